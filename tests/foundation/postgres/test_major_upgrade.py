"""The embedded database moved to another major version, and killed while that is done.

The package of the programs brings PostgreSQL 16 too: its data is that of an older installation.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from gateway_project.foundation.postgres import (
    address,
    binaries,
    folders,
    initialise,
    major_upgrade,
    migrate,
    supervise,
)
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from tests.foundation.postgres import processes
from tests.foundation.postgres.homes import located, temporary_home
from tests.foundation.postgres.processes import User
from tests.foundation.postgres.scratch import query
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("_unblocked")]

OLD = 16
ALIAS = "scratch"
ROWS = 20_000
FILL = (
    "INSERT INTO gateway_project_auditentry "
    "(at, actor, kind, action, subject, request_id, detail) "
    "SELECT now(), 'ann', 'command', 'test.row', md5(i::text), '', '{}' "
    f"FROM generate_series(1, {ROWS}) i"
)
STORED = (
    "SELECT count(*), md5(string_agg(subject, '' ORDER BY id)), current_setting('work_mem') "
    "FROM gateway_project_auditentry"
)
VERSION = "SELECT current_setting('server_version_num')::int / 10000"


def with_older_programs(cluster: Cluster) -> Cluster:
    programs = binaries.find_older_programs(OLD)
    assert programs, "the package has no older programs any more: name others"
    return cluster._replace(programs=programs, linger_s=0.0)


@contextlib.contextmanager
def connected(cluster: Cluster) -> Iterator[None]:
    default = connections["default"].settings_dict
    connections.settings[ALIAS] = default | address.build_embedded_entry(cluster)
    try:
        yield
    finally:
        connections[ALIAS].close()
        del connections[ALIAS]
        del connections.settings[ALIAS]
        supervise.unregister_user(cluster)
        processes.until(lambda: not processes.of(cluster))


def make_older_data(cluster: Cluster) -> None:
    programs = binaries.prepare_for_server(cluster.programs, cluster)
    os.mkdir(cluster.data_folder, 0o700)
    if os.geteuid() == 0:
        os.chown(cluster.data_folder, cluster.server.uid, cluster.server.gid)
    words = [binaries.program_path(programs, "initdb"), "-D", cluster.data_folder, "--no-sync"]
    words += ["--username=foregate", "--encoding=UTF8", "--locale=C", "--auth=reject"]
    initialise._run_program(cluster, words)
    initialise._create_database(cluster, programs, cluster.data_folder)


@pytest.fixture(scope="module")
def older(django_db_blocker: DjangoDbBlocker) -> Iterator[Cluster]:
    """An installation of the older version, stopped: its data can be copied."""
    with temporary_home() as home, django_db_blocker.unblock():
        cluster = with_older_programs(located(home))
        folders.prepare_folders(cluster)
        make_older_data(cluster)
        with connected(cluster):
            migrate.migrate_once(using=ALIAS)
            query(FILL)
            query("ALTER SYSTEM SET work_mem = '9MB'")
        yield cluster


@pytest.fixture
def cluster(home: Path, older: Cluster) -> Cluster:
    cluster = located(home)
    folders.prepare_folders(cluster)
    processes.copy_data(older, cluster)
    return cluster


@pytest.fixture
def _unblocked(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


def start_upgrade(cluster: Cluster) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(processes.ROOT / "manage.py"), "upgrade"],
        env={
            "PATH": os.environ["PATH"],
            "FOREGATE_HOME": cluster.home,
            "FOREGATE_POSTGRES_LINGER_S": "0",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kill_at(cluster: Cluster, words: str) -> None:
    """Start a move and kill it when it says that it has come so far."""
    with start_upgrade(cluster) as moving:
        assert moving.stdout is not None
        said = []
        for line in moving.stdout:
            said.append(line)
            if words in line:
                break
        assert moving.poll() is None, "".join(said)
        moving.kill()


def finish(cluster: Cluster) -> str:
    with start_upgrade(cluster) as moving:
        said, _ = moving.communicate(timeout=3 * PATIENCE_S)
    assert moving.returncode == 0, said
    return said


def read_stored(cluster: Cluster) -> list[tuple[object, ...]]:
    with connected(cluster):
        return [*query(VERSION), *query(STORED)]


@pytest.mark.timeout(900)  # three whole commands
def test_a_move_that_is_killed_goes_on_and_loses_nothing(
    cluster: Cluster, older: Cluster, user: Callable[..., User]
) -> None:
    was = read_stored(older)
    asking = user().ready()
    told = asking.ask()
    asking.kill()  # as long as it lives, it is a user of the database
    assert "was written by PostgreSQL 16" in told["error"]
    assert "run `manage.py upgrade`" in told["error"]
    for words in ("Saving tables", "Loading kilobytes"):
        kill_at(cluster, words)
    said = finish(cluster)
    assert "The data of PostgreSQL 16 is saved already" in said
    assert read_stored(cluster._replace(linger_s=0.0)) == [(binaries.MAJOR,), was[1]]
    kept = Path(f"{cluster.data_folder}-16")
    assert f"mv {kept} {cluster.data_folder}" in said
    assert not Path(cluster.upgrade_folder).exists()
    # Going back, as it says.
    os.rename(cluster.data_folder, f"{cluster.data_folder}-18")
    os.rename(kept, cluster.data_folder)
    assert read_stored(with_older_programs(cluster)) == was
    assert major_upgrade.remove_kept(cluster) == [f"{cluster.data_folder}-18"]
    assert major_upgrade.list_kept(cluster) == []


def test_a_start_ends_a_move_that_was_killed_between_its_last_steps(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def die(source: str, target: str) -> None:
        if source == cluster.upgraded_folder:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(major_upgrade.os, "rename", die)
    with pytest.raises(KeyboardInterrupt):
        major_upgrade.move_data(cluster, OLD, programs=None)
    monkeypatch.undo()
    assert not Path(cluster.data_folder).exists()
    assert read_stored(cluster._replace(linger_s=0.0))[0] == (binaries.MAJOR,)
    assert major_upgrade.list_kept(cluster) == [f"{cluster.data_folder}-16"]


def test_what_the_older_version_wrote_since_is_not_lost(cluster: Cluster) -> None:
    kill_at(cluster, "Loading kilobytes")
    processes.end_all(cluster)
    with connected(with_older_programs(cluster)):
        query("DELETE FROM gateway_project_auditentry WHERE id % 2 = 0")
        (was,) = query(STORED)
    assert "is saved already" not in finish(cluster)
    assert read_stored(cluster._replace(linger_s=0.0))[1] == was


def test_a_database_in_use_is_not_moved(cluster: Cluster) -> None:
    with connected(with_older_programs(cluster)):
        query("SELECT 1")
        with start_upgrade(cluster) as moving:
            said, _ = moving.communicate(timeout=PATIENCE_S)
    assert moving.returncode == 1
    assert f"processes of the earlier version still use the database ({os.getpid()})" in said


def test_settings_that_the_version_does_not_know_are_left_behind(cluster: Cluster) -> None:
    with connected(with_older_programs(cluster)):
        query("ALTER SYSTEM SET old_snapshot_threshold = '1h'")  # gone since 17
    notes = major_upgrade.move_data(cluster, OLD, programs=None)
    assert any("old_snapshot_threshold" in note for note in notes)
    assert read_stored(cluster._replace(linger_s=0.0))[0] == (binaries.MAJOR,)


def test_programs_that_are_not_there_are_asked_for(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(binaries, "OLDER_FOLDERS", ())
    with pytest.raises(ServerError, match="--old-programs FOLDER"):
        major_upgrade.move_data(cluster, OLD, programs=None)
    with pytest.raises(ServerError, match="no bin/postgres that runs"):
        major_upgrade.move_data(cluster, OLD, programs=str(tmp_path))
    with pytest.raises(ServerError, match="has PostgreSQL 18: name the folder of PostgreSQL 16"):
        major_upgrade.move_data(cluster, OLD, programs=binaries.find_programs())


def test_others_are_told_to_wait_meanwhile(cluster: Cluster, user: Callable[..., User]) -> None:
    with major_upgrade._exclude_others(cluster, lambda _: None):
        told = user().ready().ask()
    assert "is being moved to PostgreSQL 18 by `manage.py upgrade`" in told["error"]
