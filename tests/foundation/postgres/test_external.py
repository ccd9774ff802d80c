"""An external server of an older version, reached over the network with a password."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
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

    def make(*, password: str = quote(PASSWORD, safe=""), name: str = "postgres") -> str:
        url = f"postgresql://me:{password}@127.0.0.1:{port}/{name}"
        entry = address.build_django_database(Config(database_url=url))
        connections.settings[ALIAS] = {**connections["default"].settings_dict, **entry}
        connections.settings[ALIAS].pop(address.EMBEDDED, None)
        return ALIAS

    with django_db_blocker.unblock():
        yield make
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


def test_is_migrated_saved_and_restored_like_the_embedded_one(
    connect: Connect, tmp_path: Path
) -> None:
    alias = connect()
    assert migrate.migrate_once(using=alias)
    query("INSERT INTO auth_group (name) VALUES ('saved')", using=alias)
    saved = create_backup(tmp_path / "one.backup", using=alias).path
    query("DELETE FROM auth_group", using=alias)
    restore.restore_backup(saved, using=alias)
    assert query("SELECT name FROM auth_group", using=alias) == [("saved",)]
