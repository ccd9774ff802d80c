"""Save and read back a real database; whatever is wrong with the file, nothing stored is lost."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections
from psycopg.conninfo import make_conninfo
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation.postgres import binaries, client, restore
from gateway_project.foundation.postgres.backup import create_backup
from gateway_project.foundation.postgres.client import BackupError
from gateway_project.foundation.postgres.cluster import ServerError
from tests.foundation.postgres import scratch
from tests.foundation.postgres.scratch import ALIAS, query


@pytest.fixture(scope="module")
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock(), scratch.database():
        yield


@pytest.fixture
def kept(database: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path) -> Iterator[Path]:
    """A backup with one group, and a database that has since got another in its place."""
    with django_db_blocker.unblock():
        groups("saved")
        saved = create_backup(tmp_path / "kept.backup", using=ALIAS).path
        groups("later")
        yield saved


def groups(*names: str) -> None:
    query("DELETE FROM auth_group")
    for name in names:
        query(f"INSERT INTO auth_group (name) VALUES ('{name}')")


def stored() -> list[object]:
    return [row[0] for row in query("SELECT name FROM auth_group ORDER BY 1")]


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put a script in the place of one of PostgreSQL's programs."""
    real = client.find_program

    def make(name: str, script: str) -> None:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(
            client, "find_program", lambda wanted: str(path) if wanted == name else real(wanted)
        )

    return make


def test_a_restore_replaces_all_data_with_the_backup(kept: Path) -> None:
    done = restore.restore_backup(kept, using=ALIAS)
    assert stored() == ["saved"]
    assert done.size_bytes == kept.stat().st_size
    assert done.migrated == ()
    assert query("SELECT nextval(pg_get_serial_sequence('auth_group', 'id')) > 1") == [(True,)]


def test_a_restored_database_can_be_saved_and_restored_again(kept: Path) -> None:
    restore.restore_backup(kept, using=ALIAS)
    again = create_backup(kept.with_name("again"), using=ALIAS).path
    groups()
    restore.restore_backup(again, using=ALIAS)
    assert stored() == ["saved"]


def test_only_the_owner_may_read_a_backup(kept: Path) -> None:
    assert kept.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_another_client_continues_during_a_restore(kept: Path) -> None:
    parameters = connections[ALIAS].get_connection_params()
    known = {key: parameters[key] for key in ("host", "port", "user", "dbname")}
    with psycopg.connect(make_conninfo(**known), autocommit=True) as other:
        select = "SELECT name FROM auth_group"
        assert other.execute(select, prepare=True).fetchall() == [("later",)]
        restore.restore_backup(kept, using=ALIAS)
        assert other.execute(select, prepare=True).fetchall() == [("saved",)]


def test_a_backup_of_an_older_version_is_brought_up_to_date(database: None, kept: Path) -> None:
    call_command("migrate", "sessions", "zero", database=ALIAS, verbosity=0)
    old = create_backup(kept.with_name("old"), using=ALIAS).path
    call_command("migrate", "sessions", database=ALIAS, verbosity=0)
    query("CREATE TABLE refers (key varchar REFERENCES django_session)")
    done = restore.restore_backup(old, using=ALIAS)
    query("DROP TABLE refers")
    assert done.migrated == ("sessions.0001_initial",)
    assert query("SELECT count(*) FROM django_session") == [(0,)]


def test_a_backup_from_before_functions_that_there_are_now_is_brought_up_to_date(
    database: None, kept: Path
) -> None:
    call_command("migrate", "gateway_project", "0007", database=ALIAS, verbosity=0)
    old = create_backup(kept.with_name("old"), using=ALIAS).path
    call_command("migrate", "gateway_project", database=ALIAS, verbosity=0)
    done = restore.restore_backup(old, using=ALIAS)
    assert "gateway_project.0008_retired_user_names" in done.migrated
    query("INSERT INTO gateway_project_retiredusername VALUES ('x', 1)")


def test_a_backup_of_a_newer_version_is_refused(kept: Path) -> None:
    query("INSERT INTO django_migrations (app, name, applied) VALUES ('auth', '9999_x', now())")
    newer = create_backup(kept.with_name("newer"), using=ALIAS).path
    query("DELETE FROM django_migrations WHERE name = '9999_x'")
    with pytest.raises(BackupError, match=r"newer Foregate \(it has auth\.9999_x\): upgrade"):
        restore.restore_backup(newer, using=ALIAS)
    assert stored() == ["later"]


def flipped(content: bytes) -> bytes:
    middle = len(content) * 2 // 3
    return (
        content[:middle]
        + bytes(byte ^ 0xFF for byte in content[middle : middle + 64])
        + (content[middle + 64 :])
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:20],
        lambda content: content[: len(content) // 3],
        lambda content: content[: len(content) * 9 // 10],
        lambda content: content[:-1],
        flipped,
    ],
    ids=["start", "third", "most", "all but a byte", "flipped"],
)
def test_a_damaged_file_changes_nothing(kept: Path, damage: Callable[[bytes], bytes]) -> None:
    kept.write_bytes(damage(kept.read_bytes()))
    with pytest.raises(
        BackupError, match=r"(damaged|cannot restore).*nothing was changed"
    ) as caught:
        restore.restore_backup(kept, using=ALIAS)
    assert "\n" not in str(caught.value)
    assert stored() == ["later"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.unlink(), "cannot read .*: No such file"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot read .*: Is a directory"),
        (lambda path: path.write_bytes(b""), "is not a backup"),
        (lambda path: path.write_text("SELECT 1;"), "is not a backup"),
    ],
)
def test_a_file_that_is_not_a_backup_is_refused_by_name(
    kept: Path, make: Callable[[Path], object], said: str
) -> None:
    make(kept)
    with pytest.raises(BackupError, match=f"{said}.*name a file that `manage.py backup` wrote"):
        restore.restore_backup(kept, using=ALIAS)
    assert stored() == ["later"]


def test_a_backup_of_something_else_is_refused(kept: Path) -> None:
    target = client.DatabaseTarget(ALIAS)
    subprocess.run(
        [
            client.find_program("pg_dump"),
            *target.build_arguments(),
            "-Fc",
            "--table=auth_group",
            f"--file={kept}",
        ],
        env=target.build_environment(),
        check=True,
    )
    with pytest.raises(BackupError, match="is a backup, but not of Foregate"):
        restore.restore_backup(kept, using=ALIAS)
    assert stored() == ["later"]


def test_tables_that_are_in_use_too_long_are_left_alone(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "LOCK_WAIT_S", 0.1)
    parameters = connections[ALIAS].get_connection_params()
    known = {key: parameters[key] for key in ("host", "port", "user", "dbname")}
    with psycopg.connect(make_conninfo(**known)) as other:
        other.execute("SELECT * FROM auth_group")
        with pytest.raises(BackupError, match="lock timeout; nothing was changed"):
            restore.restore_backup(kept, using=ALIAS)
    assert stored() == ["later"]


def test_a_reader_that_fails_at_its_end_changes_nothing(
    kept: Path, scripted: Callable[[str, str], None]
) -> None:
    real = client.find_program("pg_restore")
    scripted("pg_restore", f'{real} "$@"; case "$*" in *--clean*) exit 1 ;; esac')
    with pytest.raises(BackupError, match="damaged or incomplete"):
        restore.restore_backup(kept, using=ALIAS)
    assert stored() == ["later"]


def test_a_backup_that_fails_leaves_the_older_one(
    kept: Path, scripted: Callable[[str, str], None]
) -> None:
    before = kept.read_bytes()
    fail = "echo 'pg_dump: error: could not write: No space left on device' >&2; exit 1"
    scripted("pg_dump", fail)
    with pytest.raises(BackupError, match="No space left on device; the existing file"):
        create_backup(kept, using=ALIAS)
    assert kept.read_bytes() == before
    assert sorted(path.name for path in kept.parent.iterdir()) == ["kept.backup", "pg_dump"]


@pytest.mark.parametrize(
    ("name", "said"), [(".", "is a folder: name a file in it"), ("none/x", "No such file")]
)
def test_an_unwritable_backup_path_is_named(
    kept: Path, tmp_path: Path, name: str, said: str
) -> None:
    with pytest.raises(BackupError, match=said):
        create_backup(tmp_path / name, using=ALIAS)


def test_a_server_newer_than_the_programs_is_named(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "MAJOR", 14)
    with pytest.raises(BackupError, match="support up to 14: use pg_dump and pg_restore of"):
        create_backup(kept, using=ALIAS)


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise ServerError("install it")

    monkeypatch.setattr(binaries, "find_programs", fail)
    with pytest.raises(BackupError, match="install it"):
        client.find_program("pg_dump")


def test_the_password_is_passed_where_others_cannot_see_it(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections[ALIAS].settings_dict, "PASSWORD", "hunter2")
    target = client.DatabaseTarget(ALIAS)
    assert target.build_environment()["PGPASSWORD"] == "hunter2"
    assert "hunter2" not in " ".join(target.build_arguments())


def test_says_whether_there_is_data_to_lose(kept: Path) -> None:
    assert restore.has_data(using=ALIAS)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"pg_dump: error: so it is\npg_dump: detail: more\n", "so it is"),
        (b"psql:<stdin>:9: ERROR:  so it is\n", "so it is"),
        (b"odd\n", "odd"),
        (b"", "it gave no reason"),
    ],
)
def test_reports_the_first_error_of_a_programs_output(output: bytes, said: str) -> None:
    assert client.extract_error_line(output) == said


@pytest.mark.parametrize(("major", "sent"), [(16, b"a\nb\n"), (18, None)])
def test_settings_that_an_older_server_rejects_are_left_out(
    tmp_path: Path, major: int, sent: bytes | None
) -> None:
    source, sink = tmp_path / "source", tmp_path / "sink"
    source.write_bytes(b"a\nSET transaction_timeout = 0;\nb\n")
    with source.open("rb") as reader, sink.open("wb") as writer:
        restore._pump_statements(reader, writer, major)
    assert sink.read_bytes() == (sent or source.read_bytes())
