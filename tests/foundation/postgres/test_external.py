"""An external server of an older version, reached over the network with a password."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation.config import Config
from gateway_project.foundation.postgres import address, binaries, initialise, migrate, restore
from gateway_project.foundation.postgres.backup import create_backup
from gateway_project.foundation.postgres.failures import DatabaseUnavailable
from tests.foundation.postgres import processes
from tests.foundation.postgres.scratch import query
from tests.journeys.gateways import free_port

pytestmark = pytest.mark.full

PASSWORD = "p@ss/w:rd"
ALIAS = "scratch"

Connect = Callable[..., str]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A PostgreSQL 16 with pgvector, from the same package, on a port of this machine."""
    programs = Path(binaries.find_programs()).with_name("pginstall")
    free = free_port()
    folder = Path(tempfile.mkdtemp(prefix="fg-", dir="/tmp"))
    (folder / "password").write_text(PASSWORD)
    identity = initialise.account_arguments(processes.nobody())
    if identity:
        for path in (folder, folder / "password"):
            os.chown(path, processes.nobody().uid, processes.nobody().gid)
    common = {"env": initialise.ENVIRONMENT, "stdout": subprocess.DEVNULL, **identity}
    subprocess.run(
        [
            programs / "bin" / "initdb",
            f"--pgdata={folder}/data",
            "--username=me",
            "--auth=scram-sha-256",
            f"--pwfile={folder}/password",
            "--encoding=UTF8",
            "--no-sync",
        ],
        check=True,
        **common,
    )
    options = ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"]
    server = subprocess.Popen(
        [programs / "bin" / "postgres", "-D", folder / "data", "-p", str(free), *options],
        stderr=subprocess.DEVNULL,
        **common,
    )
    with server:
        asked = [programs / "bin" / "pg_isready", "--host=127.0.0.1", f"--port={free}", "--quiet"]
        processes.until(lambda: subprocess.run(asked).returncode == 0)
        yield free
        server.terminate()
    shutil.rmtree(folder)


@pytest.fixture
def connect(
    port: int, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[Connect]:
    """Make the server the tests' other database, as DATABASE_URL would."""

    def make(
        *, password: str = quote(PASSWORD, safe=""), name: str = "postgres", through: int = port
    ) -> str:
        url = f"postgresql://me:{password}@127.0.0.1:{through}/{name}"
        entry = address.build_django_database(Config(database_url=url))
        connections.settings[ALIAS] = {**connections["default"].settings_dict, **entry}
        connections.settings[ALIAS].pop(address.EMBEDDED, None)
        return ALIAS

    with django_db_blocker.unblock():
        yield make
        if ALIAS not in connections.settings:  # it was skipped for want of a pooler
            return
        connections[ALIAS].close()
    del connections[ALIAS]
    del connections.settings[ALIAS]


def test_works_with_a_password_that_needs_encoding(connect: Connect) -> None:
    assert query("SELECT current_user", using=connect()) == [("me",)]


def test_a_wrong_password_is_reported_without_repeating_it(connect: Connect) -> None:
    with pytest.raises(DatabaseUnavailable, match="refuses the user 'me'") as caught:
        query("SELECT 1", using=connect(password="hunter2"))
    assert "hunter2" not in str(caught.value)


def test_a_missing_password_is_reported(connect: Connect) -> None:
    with pytest.raises(DatabaseUnavailable, match="refuses the user 'me'"):
        query("SELECT 1", using=connect(password=""))


def test_a_missing_database_is_reported(connect: Connect) -> None:
    with pytest.raises(DatabaseUnavailable, match=r"createdb none"):
        query("SELECT 1", using=connect(name="none"))


@pytest.fixture
def pooled(port: int, tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """Start PgBouncer before the server in a mode; return its port."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed")
    with contextlib.ExitStack() as started:

        def start(mode: str) -> int:
            own = free_port()
            settings = tmp_path / f"{mode}.ini"
            settings.write_text(
                f"[databases]\n"
                f"postgres = host=127.0.0.1 port={port} user=me password={PASSWORD}\n"
                f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {own}\n"
                f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
                "ignore_startup_parameters = options\n"
            )
            user = ("-u", "nobody") if os.geteuid() == 0 else ()
            pooler = subprocess.Popen(
                [program, *user, settings], stderr=subprocess.DEVNULL, cwd=tmp_path
            )
            started.enter_context(pooler)
            started.callback(pooler.terminate)
            processes.until(lambda: is_listening(own))
            return own

        yield start


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_pooler_in_transaction_mode_is_refused_when_it_is_connected_to(
    connect: Connect, pooled: Callable[[str], int]
) -> None:
    with pytest.raises(DatabaseUnavailable, match="is a pooler in transaction mode"):
        query("SELECT 1", using=connect(through=pooled("transaction")))


def test_a_pooler_in_session_mode_is_used(connect: Connect, pooled: Callable[[str], int]) -> None:
    assert query("SELECT 1", using=connect(through=pooled("session"))) == [(1,)]


def test_is_migrated_saved_and_restored_like_the_embedded_one(
    connect: Connect, tmp_path: Path
) -> None:
    alias = connect()
    assert migrate.migrate_once(using=alias)
    query("INSERT INTO auth_group (name) VALUES ('saved')", using=alias)
    saved = create_backup(tmp_path / "one.backup", using=alias)
    query("TRUNCATE auth_group CASCADE", using=alias)
    restore.restore_backup(
        saved, keep_in=tmp_path, at=datetime(2026, 11, 28, tzinfo=UTC), using=alias
    )
    assert ("saved",) in query("SELECT name FROM auth_group", using=alias)
