import os
import threading
from collections.abc import Iterator
from importlib.machinery import FileFinder
from pathlib import Path
from pkgutil import ModuleInfo
from typing import Any

import psycopg
import pytest
from django.db import ProgrammingError, connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation.postgres import archive, migrate
from gateway_project.foundation.postgres.address import EMBEDDED
from gateway_project.foundation.postgres.failures import DatabaseUnavailable
from gateway_project.wiring import snapshot
from tests.foundation.postgres import scratch


@pytest.fixture
def empty(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    with django_db_blocker.unblock(), scratch.database(migrated=False) as alias:
        yield alias


APPS_LAST = dict(sorted(MigrationLoader(None).disk_migrations or {}))
APPS = list(APPS_LAST)


@pytest.mark.django_db
def test_a_missing_migration_of_any_app_keeps_the_gateway_from_serving(settings: Any) -> None:
    recorder = MigrationRecorder(connection)
    load = snapshot.make_loader(settings.FOREGATE, None, kind="http")
    load()
    for app in APPS:
        last = APPS_LAST[app]
        recorder.record_unapplied(app, last)
        with pytest.raises(
            migrate.MigrationsPending, match=rf"such as {app}\.{last}; run `manage.py upgrade`"
        ):
            load()
        recorder.record_applied(app, last)


@pytest.mark.django_db
def test_migrations_of_the_queue_are_required_if_it_is_used(settings: Any) -> None:
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "procrastinate.contrib.django"]
    assert {name.partition(".")[0] for name in migrate.list_pending_migrations()} == {
        "procrastinate"
    }


def test_migrations_are_listed_from_files_as_django_lists_them() -> None:
    assert set(migrate._list_on_disk()) == set(MigrationLoader(None).disk_migrations or {})


@pytest.mark.django_db
def test_new_migration_files_do_not_stop_a_running_old_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    migrate.require_migrated()
    listed = migrate.iter_modules

    def after_an_upgrade(folders: Any) -> Iterator[Any]:
        yield from listed(folders)
        yield ModuleInfo(FileFinder("."), "9999_later", ispkg=False)

    monkeypatch.setattr(migrate, "iter_modules", after_an_upgrade)
    migrate.require_migrated()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("app", "name", "fits"),
    [
        ("tools", "9999_later", False),
        ("tools", "9999_later_additive", True),
        ("auth", "9999_later", False),
        ("uninstalled", "0001_initial", True),
    ],
)
def test_a_database_is_refused_if_a_newer_version_did_more_than_add_to_it(
    app: str, name: str, *, fits: bool
) -> None:
    MigrationRecorder(connection).record_applied(app, name)
    for check in (migrate.require_migrated, migrate.migrate_once):
        if fits:
            check()
        else:
            with pytest.raises(migrate.DatabaseNewer, match=rf"\({app}\.{name}\).*upgrade"):
                check()


def test_processes_that_start_together_migrate_once(empty: str) -> None:
    pending = migrate.list_pending_migrations(using=empty)
    assert "auth.0001_initial" in pending
    results: list[list[str]] = []
    start = threading.Barrier(2)

    def run() -> None:
        start.wait()
        try:
            results.append(migrate.migrate_once(using=empty))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results, key=len) == [[], pending]
    assert migrate.list_pending_migrations(using=empty) == []
    assert migrate.migrate_once(using=empty) == []


def test_the_lock_is_released_after_a_failure(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ProgrammingError('permission denied to create extension "vector"\nHINT: more')

    monkeypatch.setattr(migrate, "call_command", fail)
    with pytest.raises(DatabaseUnavailable, match="run `CREATE EXTENSION vector`"):
        migrate.migrate_once(using=empty)
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
    assert scratch.query(held) == [(0,)]


def test_a_lost_connection_releases_the_lock(empty: str) -> None:
    with migrate.lock_schema(using=empty):
        connections[empty].close()


def test_other_errors_of_an_upgrade_stay_as_they_are(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ProgrammingError('syntax error at or near "x"')

    monkeypatch.setattr(migrate, "call_command", fail)
    with pytest.raises(ProgrammingError, match="syntax error"):
        migrate.migrate_once(using=empty)


@pytest.fixture
def upgraded(
    empty: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[tuple[str, Path]]:
    """A database with data that lacks a migration, and the folder that it is saved to."""
    migrate.migrate_once(using=empty)
    MigrationRecorder(connections[empty]).record_unapplied("tools", APPS_LAST["tools"])
    settings = connections[empty].settings_dict
    monkeypatch.setitem(settings, EMBEDDED, settings[EMBEDDED]._replace(home=str(tmp_path)))
    return empty, tmp_path / migrate.BACKUP_FOLDER


def test_data_is_saved_before_a_process_migrates_it(
    upgraded: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    alias, folder = upgraded
    found: list[list[str]] = []
    monkeypatch.setattr(migrate, "call_command", lambda *_, **__: found.append(os.listdir(folder)))
    assert len(migrate.migrate_once(using=alias)) == 1
    [[name]] = found
    with (folder / name).open("rb") as file:
        contents = archive.read_contents(file, folder / name)
    assert ("tools", APPS_LAST["tools"]) not in contents.migrations


def test_data_that_cannot_be_saved_is_not_migrated(
    upgraded: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    alias, folder = upgraded
    folder.touch()
    monkeypatch.setattr(migrate, "call_command", pytest.fail)
    with pytest.raises(migrate.MigrationsPending, match=r"cannot use .*backups.*--no-backup"):
        migrate.migrate_once(using=alias)


def test_migrations_give_way_to_programs_that_use_the_tables(empty: str) -> None:
    migrate.migrate_once(using=empty)
    other = psycopg.connect(**connections[empty].get_connection_params())
    other.execute("LOCK TABLE tools_team IN ACCESS SHARE MODE")
    attempts = []

    def apply() -> None:
        if attempts:
            other.rollback()
        attempts.append(1)
        with connections[empty].cursor() as cursor:
            cursor.execute("ALTER TABLE tools_team ADD COLUMN later integer")

    with other, migrate.lock_schema(using=empty):
        migrate.apply_beside_others(apply, using=empty)
    assert len(attempts) == 2
    scratch.query("SELECT later FROM tools_team", using=empty)
