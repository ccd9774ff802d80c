"""Restores of archives in every state over full and empty databases: the old or the new, whole."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation.postgres import client, restore
from gateway_project.foundation.postgres.backup import create_backup
from gateway_project.foundation.postgres.client import BackupError
from tests.foundation.postgres import scratch
from tests.foundation.postgres.processes import until
from tests.foundation.postgres.scratch import ALIAS, query
from tests.foundation.postgres.test_backup import find_taken_bits, flip
from tests.journeys.gateways import BASE, JOURNEY_S
from tests.landed_schemas import dump, installation
from tests.landed_schemas.test_dumps import DUMPS, schema

# Schemas are compared with that of the tests; a transaction left open there would time out.
pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]

AT = datetime(2026, 11, 28, tzinfo=UTC)
KILLS = int(os.environ.get("FOREGATE_TEST_KILLS", "3"))
"""For a full and for an empty database, each; ten of them take five minutes more."""
FLIPS = 100
FIRST_BYTES = 1_024

State = tuple[object, ...]


def whole() -> State:
    """Return everything that the database holds, in a form that a restore leaves alike."""
    tables = query(
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
    )
    rows = [
        query(f'SELECT md5(string_agg(r::text, chr(10) ORDER BY r::text)) FROM "{table}" AS r')
        for (table,) in tables
        if table != "django_migrations"  # the times at which they were applied differ
    ]
    return (tables, rows, {kind: sorted(items) for kind, items in schema(ALIAS).items()})


def name_group(name: str) -> None:
    query("TRUNCATE auth_group CASCADE")
    query(f"INSERT INTO auth_group (name) VALUES ('{name}')")


def clear() -> None:
    for (statement,) in query(restore.LIST_OBJECTS_SQL):
        query(str(statement))


def restored(path: Path) -> None:
    restore.restore_backup(path, keep_in=None, at=AT, using=ALIAS)


def pg_dump(path: Path, *arguments: str) -> Path:
    target = client.DatabaseTarget(ALIAS)
    program = client.find_program("pg_dump")
    subprocess.run(
        [program, *target.build_arguments(), *arguments, f"--file={path}"],
        env=target.build_environment(),
        check=True,
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@pytest.fixture
def archives(
    transactional_db: None, django_db_blocker: DjangoDbBlocker, folder: Path
) -> Iterator[dict[str, Path]]:
    """Good archives, by name, and a migrated database with a group `later`."""
    with django_db_blocker.unblock(), scratch.database():
        name_group("saved")
        good = {"good": create_backup(folder / "good", using=ALIAS)}
        call_command("migrate", "sessions", "zero", database=ALIAS, verbosity=0)
        good["older"] = create_backup(folder / "older", using=ALIAS)
        call_command("migrate", "sessions", database=ALIAS, verbosity=0)
        name_group("later")
        yield good


def make_bad(good: Path, folder: Path) -> dict[str, Path]:
    """Return archives that have to be refused."""
    content = good.read_bytes()
    cuts = [0, 4, 5, 40, 200, 5_000, len(content) // 2, len(content) - 120, len(content) - 1]
    bits = random.Random(7).sample(range(8 * len(content)), 12)  # noqa: S311 - the same each time
    made = {
        **{f"cut at {size}": content[:size] for size in cuts},
        **{f"bit {bit} flipped": flip(content, bit) for bit in (3, 43, 8 * 100, *bits)},
        "no digest": content.rstrip(b"\n").rpartition(b"\n")[0],
        "appended": content + b"x",
        "SQL": b"DROP TABLE auth_group;",
        "SQLite": b"SQLite format 3\0" + bytes(2_000),
        "compressed": b"\x1f\x8b" + content[2:],
        "zeros": bytes(len(content)),
    }
    bad = {}
    for number, (name, damaged) in enumerate(made.items()):
        bad[name] = folder / f"bad-{number}"
        bad[name].write_bytes(damaged)
    query("CREATE SCHEMA blog CREATE TABLE posts (id int)")
    bad["not of Django"] = pg_dump(folder / "posts", "-Fc", "--schema=blog")
    query("CREATE TABLE blog.django_migrations AS SELECT 1 AS id, 'blog' AS app, '1' AS name")
    bad["of another project"] = pg_dump(folder / "blog", "-Fc", "--schema=blog")
    query("DROP SCHEMA blog CASCADE")
    bad["tar"] = pg_dump(folder / "tar", "-Ft", "--schema=public")
    bad["plain"] = pg_dump(folder / "plain", "-Fp", "--schema=public")
    newer = "INSERT INTO django_migrations (app, name, applied) VALUES ('auth', '9999_x', now())"
    query(newer)
    bad["newer"] = create_backup(folder / "newer", using=ALIAS)
    query("DELETE FROM django_migrations WHERE name = '9999_x'")
    query("ALTER TABLE auth_user RENAME COLUMN email TO mail")
    bad["without a column"] = create_backup(folder / "column", using=ALIAS)
    query("ALTER TABLE auth_user RENAME COLUMN mail TO email")
    return bad


def test_archives_that_cannot_be_used_change_nothing_and_others_all(
    archives: dict[str, Path], folder: Path
) -> None:
    bad = make_bad(archives["good"], folder)
    assert len(bad) + len(archives) >= 35
    for prepare in (lambda: None, clear):
        prepare()
        old = whole()
        for name, path in bad.items():
            with pytest.raises(BackupError) as refusal:
                restored(path)
            assert "\n" not in str(refusal.value), name
            assert whole() == old, name
    restored(archives["good"])
    new = whole()
    for path in archives.values():
        name_group("later")
        restored(path)
        assert whole() == new
        clear()
        restored(path)
        assert whole() == new


@pytest.mark.parametrize("landed", DUMPS, ids=lambda path: path.stem)
def test_an_archive_of_a_landed_schema_is_brought_up_to_date(
    transactional_db: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path, landed: Path
) -> None:
    with django_db_blocker.unblock(), scratch.database(migrated=False):
        query(landed.read_text())
        tools = query("SELECT name FROM tools_tool ORDER BY name")
        restored(create_backup(tmp_path / "landed", using=ALIAS))
        assert schema(ALIAS) == schema("default")
        assert query("SELECT name FROM tools_tool ORDER BY name") == tools


def test_no_bit_of_the_first_kilobyte_and_none_of_a_hundred_others_is_taken(
    archives: dict[str, Path],
) -> None:
    others = random.Random(1).sample(  # noqa: S311 - the same each time
        range(8 * FIRST_BYTES, 8 * archives["good"].stat().st_size), FLIPS
    )
    assert find_taken_bits(archives["good"], [*range(8 * FIRST_BYTES), *others]) == []


def start_restore(path: Path, home: Path) -> subprocess.Popen[bytes]:
    """Start the command in a process group of its own."""
    url = dump.database_url(connections[ALIAS].get_connection_params())
    connections[ALIAS].close()
    return subprocess.Popen(
        [sys.executable, str(BASE / "manage.py"), "restore", str(path), "--yes"],
        cwd=BASE,
        env=installation.environment(home, url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


@pytest.mark.parametrize("prepare", [lambda: None, clear], ids=["full", "empty"])
def test_a_restore_that_is_killed_leaves_the_old_or_the_new(
    archives: dict[str, Path], tmp_path: Path, prepare: Callable[[], None]
) -> None:
    installation.prepare_home(tmp_path)
    before = create_backup(tmp_path / "before", using=ALIAS)
    prepare()
    old = whole()
    began = time.monotonic()
    with start_restore(archives["older"], tmp_path) as process:
        output, _ = process.communicate(timeout=JOURNEY_S)
    lasts_s = time.monotonic() - began
    assert process.returncode == 0, output
    new = whole()
    outcomes = []
    for moment in range(KILLS):
        restored(before)
        prepare()
        with start_restore(archives["older"], tmp_path) as process:
            time.sleep(lasts_s * (moment + 0.5) / KILLS)
            os.killpg(process.pid, signal.SIGKILL)
        until(is_alone)
        outcomes.append((old, new).index(whole()))
    print("old, old, new …:", outcomes)  # noqa: T201 - what a run of the trials shows


def is_alone() -> bool:
    """Whether the server has noticed that the killed processes are gone."""
    others = query(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    return others == [(0,)]
