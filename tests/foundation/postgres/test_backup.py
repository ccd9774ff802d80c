"""Save and read back a real database; whatever is wrong with the file, nothing stored is lost."""

import contextlib
import os
import random
import shlex
import subprocess
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import OperationalError, connections
from psycopg.conninfo import make_conninfo
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation import notify
from gateway_project.foundation.postgres import archive, binaries, client, migrate, restore
from gateway_project.foundation.postgres.backup import create_backup, run_pg_dump
from gateway_project.foundation.postgres.client import BackupError
from gateway_project.foundation.postgres.cluster import ServerError
from gateway_project.foundation.postgres.restore import RestoreResult
from tests.foundation.postgres import scratch
from tests.foundation.postgres.scratch import ALIAS, query
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock(), scratch.database():
        yield


@pytest.fixture
def kept(database: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path) -> Iterator[Path]:
    """A backup with one group, and a database that has since got another in its place."""
    with django_db_blocker.unblock():
        groups("saved")
        saved = create_backup(tmp_path / "kept.backup", using=ALIAS)
        groups("later")
        yield saved


def groups(*names: str) -> None:
    query("TRUNCATE auth_group CASCADE")
    for name in names:
        query(f"INSERT INTO auth_group (name) VALUES ('{name}')")


def stored() -> list[object]:
    return [row[0] for row in query("SELECT name FROM auth_group ORDER BY 1")]


AT = datetime(2026, 11, 28, 12, 30, 15, tzinfo=UTC)


def restored(path: Path, *, using: str = ALIAS) -> RestoreResult:
    """Restore a backup; what it replaces is saved beside it."""
    return restore.restore_backup(path, keep_in=path.parent / "backups", at=AT, using=using)


def known_parameters() -> dict[str, object]:
    parameters = connections[ALIAS].get_connection_params()
    return {key: parameters[key] for key in ("host", "port", "user", "dbname")}


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
    done = restored(kept, using=ALIAS)
    assert stored() == ["saved"]
    assert done.migrated == ()
    assert query("SELECT nextval(pg_get_serial_sequence('auth_group', 'id')) > 1") == [(True,)]


def test_a_restored_database_can_be_saved_and_restored_again(kept: Path) -> None:
    restored(kept, using=ALIAS)
    again = create_backup(kept.with_name("again"), using=ALIAS)
    groups()
    restored(again, using=ALIAS)
    assert stored() == ["saved"]


def test_only_the_owner_may_read_a_backup(kept: Path) -> None:
    assert kept.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_another_client_continues_during_a_restore(kept: Path) -> None:
    with psycopg.connect(make_conninfo(**known_parameters()), autocommit=True) as other:
        select = "SELECT name FROM auth_group"
        assert other.execute(select, prepare=True).fetchall() == [("later",)]
        restored(kept, using=ALIAS)
        assert other.execute(select, prepare=True).fetchall() == [("saved",)]


def back_up_without_sessions(path: Path) -> Path:
    """Back up a database that lacks a migration, and bring it up to date again."""
    call_command("migrate", "sessions", "zero", database=ALIAS, verbosity=0)
    saved = create_backup(path, using=ALIAS)
    call_command("migrate", "sessions", database=ALIAS, verbosity=0)
    return saved


def test_a_backup_from_before_what_there_is_now_is_brought_up_to_date(
    database: None, kept: Path
) -> None:
    old = back_up_without_sessions(kept.with_name("old"))
    query("CREATE TYPE mood AS ENUM ('good')")
    query("CREATE TABLE refers (key varchar REFERENCES django_session, mood mood)")
    query("CREATE VIEW seen AS SELECT * FROM refers")
    query("CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    done = restored(old, using=ALIAS)
    assert done.migrated == ("sessions.0001_initial",)
    left = "to_regclass('refers'), to_regclass('seen'), to_regtype('mood'), to_regproc('one')"
    assert query(f"SELECT {left}") == [(None, None, None, None)]


def test_what_a_restore_replaces_is_saved(kept: Path) -> None:
    done = restored(kept)
    assert done.replaced is not None
    assert done.replaced.name == "before-restore-20261128T123015Z.backup"
    restored(done.replaced)
    assert stored() == ["later"]


def test_what_a_killed_restore_saved_in_part_is_removed(kept: Path) -> None:
    folder = kept.parent / "backups"
    folder.mkdir()
    (folder / ".before-restore-x.backup.abc").touch()
    done = restored(kept)
    assert list(folder.iterdir()) == [done.replaced]


def test_nothing_is_replaced_that_cannot_be_saved(kept: Path) -> None:
    (kept.parent / "backups").touch()
    with pytest.raises(BackupError, match=r"backups: File exists; .*--no-backup"):
        restored(kept)
    assert stored() == ["later"]


def test_a_backup_of_a_newer_version_is_refused(kept: Path) -> None:
    query("INSERT INTO django_migrations (app, name, applied) VALUES ('auth', '9999_x', now())")
    newer = create_backup(kept.with_name("newer"), using=ALIAS)
    query("DELETE FROM django_migrations WHERE name = '9999_x'")
    with pytest.raises(BackupError, match=r"newer Foregate \(it has auth\.9999_x\): upgrade"):
        restored(newer, using=ALIAS)
    assert stored() == ["later"]


def flip(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:20],
        lambda content: content[: len(content) // 3],
        lambda content: content[: len(content) * 9 // 10],
        lambda content: content[:-1],
        lambda content: content[:-100],
        lambda content: flip(content, 8 * 2000),
        lambda content: flip(content, 8 * len(content) * 2 // 3),
        lambda content: flip(content, 8 * (len(content) - 80)),
        lambda content: content + b"x",
    ],
    ids=[
        *("start", "third", "most", "all but a byte", "no digest"),
        *("flip in contents", "flip in rows", "flip in digest", "more"),
    ],
)
def test_a_damaged_file_changes_nothing(kept: Path, damage: Callable[[bytes], bytes]) -> None:
    kept.write_bytes(damage(kept.read_bytes()))
    with pytest.raises(BackupError, match=r"damaged.*nothing was changed") as caught:
        restored(kept)
    assert "\n" not in str(caught.value)
    assert stored() == ["later"]


def find_taken_bits(path: Path, bits: Iterable[int]) -> list[int]:
    """Flip bits of a file, one at a time; return those with which it is still taken."""
    content, taken = path.read_bytes(), []
    with path.open("r+b", buffering=0) as file:
        for bit in bits:
            byte = content[bit // 8]
            os.pwrite(file.fileno(), bytes([byte ^ 1 << bit % 8]), bit // 8)
            with contextlib.suppress(BackupError):
                archive.read_contents(file, path)
                taken.append(bit)
            os.pwrite(file.fileno(), bytes([byte]), bit // 8)
    return taken


def test_no_flipped_bit_is_taken(kept: Path) -> None:
    size = 8 * kept.stat().st_size
    chosen = random.Random(3).sample(range(size), 200)  # noqa: S311 - the same bits each time
    assert find_taken_bits(kept, [*chosen, *range(size - 8 * 100, size, 131)]) == []
    restored(kept)


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
        restored(kept, using=ALIAS)
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
        restored(kept, using=ALIAS)
    assert stored() == ["later"]


def test_a_backup_of_another_django_project_is_refused(kept: Path) -> None:
    query("CREATE SCHEMA blog")
    query("CREATE TABLE blog.django_migrations AS SELECT 1 AS id, 'blog' AS app, '0001' AS name")
    try:
        target = client.DatabaseTarget(ALIAS)
        target.schema = "blog"
        run_pg_dump(target, str(kept), kept)
    finally:
        query("DROP SCHEMA blog CASCADE")
    with pytest.raises(BackupError, match="is a backup, but not of Foregate"):
        restored(kept)
    assert stored() == ["later"]


def test_a_backup_of_another_schema_is_refused(kept: Path) -> None:
    parameters = connections[ALIAS].settings_dict
    query("CREATE SCHEMA other")
    connections[ALIAS].close()
    before = parameters["OPTIONS"]
    parameters["OPTIONS"] = {**before, "options": "-c search_path=other,public"}
    try:
        with pytest.raises(BackupError, match=r"is of the schema 'public' and .* uses 'other'"):
            restored(kept)
    finally:
        parameters["OPTIONS"] = before
        connections[ALIAS].close()
        query("DROP SCHEMA other")
    assert stored() == ["later"]


def test_a_backup_that_lacks_a_column_changes_nothing(kept: Path) -> None:
    query("ALTER TABLE auth_user RENAME COLUMN email TO mail")
    broken = create_backup(kept.with_name("broken"), using=ALIAS)
    query("ALTER TABLE auth_user RENAME COLUMN mail TO email")
    with pytest.raises(BackupError, match=r"lacks auth_user\.email .*nothing was changed"):
        restored(broken)
    assert stored() == ["later"]


@pytest.mark.parametrize("step", ["_replace_data", "_require_all_columns"])
def test_a_restore_whose_connection_is_lost_changes_nothing(
    kept: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    real = getattr(restore, step)

    def lose(*arguments: object) -> None:
        real(*arguments)
        query("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(restore, step, lose)
    with pytest.raises(BackupError, match=r"terminating connection .*nothing was changed"):
        restored(kept)
    assert stored() == ["later"]


def test_a_commit_without_an_answer_is_not_called_undone(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = restore._require_all_columns

    def lose(*arguments: object) -> None:
        real(*arguments)
        [(pid,)] = query("SELECT pg_backend_pid()")
        with psycopg.connect(make_conninfo(**known_parameters())) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

    monkeypatch.setattr(restore, "_require_all_columns", lose)
    with pytest.raises(BackupError, match="whether it was committed is unknown"):
        restored(kept)


def test_an_upgrade_that_fails_changes_nothing(
    database: None, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = back_up_without_sessions(kept.with_name("old"))

    def fail(*_: object, **__: object) -> None:
        raise OperationalError("keys/sealing.keys is missing")

    monkeypatch.setattr(migrate, "call_command", fail)
    with pytest.raises(BackupError, match=r"sealing\.keys is missing; nothing was changed"):
        restored(old)
    assert stored() == ["later"]


def test_listeners_hear_of_a_restore(kept: Path) -> None:
    with psycopg.connect(make_conninfo(**known_parameters()), autocommit=True) as other:
        other.execute(f"LISTEN {notify.REPLACED}")
        restored(kept)
        heard = next(other.notifies(timeout=PATIENCE_S))
    assert heard.channel == notify.REPLACED


def test_tables_that_are_in_use_too_long_are_left_alone(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "LOCK_WAIT_S", 0.1)
    with psycopg.connect(make_conninfo(**known_parameters())) as other:
        other.execute("SELECT * FROM auth_group")
        with pytest.raises(BackupError, match=r"lock timeout.*nothing was changed"):
            restored(kept, using=ALIAS)
    assert stored() == ["later"]


def test_a_reader_that_fails_at_its_end_changes_nothing(
    kept: Path, scripted: Callable[[str, str], None]
) -> None:
    real = client.find_program("pg_restore")
    scripted(
        "pg_restore", f'{shlex.quote(str(real))} "$@"; case "$*" in *post-data*) exit 1 ;; esac'
    )
    with pytest.raises(BackupError, match="damaged or incomplete"):
        restored(kept, using=ALIAS)
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
