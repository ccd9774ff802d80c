"""Start, adopt, watch and stop a real server, as its keeper does."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import psycopg
import pytest

from gateway_project.foundation.postgres import (
    binaries,
    folders,
    initialise,
    leftovers,
    locks,
    pidfile,
    postmaster,
)
from gateway_project.foundation.postgres.cluster import NAME, PORT, Cluster, ServerError
from gateway_project.foundation.postgres.postmaster import Postmaster
from tests.foundation.postgres import processes
from tests.foundation.postgres.homes import located, temporary_home

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*multi-threaded.*:DeprecationWarning"  # the keeper itself has one thread
)


@pytest.fixture(scope="module")
def data(template: Cluster) -> Iterator[Cluster]:
    """One data folder for the module; each test starts and ends its own server."""
    with temporary_home() as home:
        cluster = located(home)
        folders.prepare_folders(cluster)
        processes.copy_data(template, cluster)
        yield cluster


@pytest.fixture
def programs() -> str:
    return binaries.find_programs()


@pytest.fixture
def server(data: Cluster, programs: str) -> Iterator[Postmaster]:
    server = postmaster.ensure_server(data, programs)
    yield server
    server.stop(immediately=True)


def query(cluster: Cluster, sql: str) -> str:
    with connect(cluster) as connection:
        return connection.execute(sql).statusmessage or ""


def connect(cluster: Cluster) -> psycopg.Connection:
    return psycopg.connect(
        host=cluster.socket_folder, port=PORT, user=NAME, dbname=NAME, autocommit=True
    )


def test_a_first_start_makes_a_private_data_folder_with_checksums(
    cluster: Cluster, programs: str
) -> None:
    folders.prepare_folders(cluster)
    server = postmaster.ensure_server(cluster, programs)
    assert query(cluster, "SELECT") == "SELECT 1"
    server.stop()
    status = os.stat(cluster.data_folder)
    assert (status.st_mode & 0o777, status.st_uid) == (0o700, cluster.server.uid)
    assert sorted(name for name in os.listdir(cluster.base) if "data" in name) == ["data"]
    shown = subprocess.run(
        [binaries.program_path(programs, "pg_controldata"), cluster.data_folder],
        capture_output=True,
        text=True,
        check=True,
        env=initialise.ENVIRONMENT,
    ).stdout
    assert "Data page checksum version:           1" in shown


def test_a_started_server_has_the_database_and_pgvector(server: Postmaster, data: Cluster) -> None:
    assert server.is_child()
    assert server.is_alive()
    installed = "SELECT FROM pg_extension WHERE extname = 'vector' AND extversion >= '0.8'"
    assert query(data, installed) == "SELECT 1"


def test_listens_on_its_private_socket_alone(server: Postmaster, data: Cluster) -> None:
    connections = psutil.Process(server.pid).net_connections("inet")
    assert connections == []
    assert os.stat(data.socket_file).st_mode & 0o077 == 0


def test_a_clean_stop_leaves_nothing_behind(data: Cluster, programs: str) -> None:
    server = postmaster.ensure_server(data, programs)
    server.stop()
    assert not server.is_alive()
    assert pidfile.read_pid(data) is None
    assert locks.is_free(data.server_lock)
    server.stop()


def test_a_killed_server_is_noticed_and_its_successor_has_all_committed_rows(
    data: Cluster, programs: str
) -> None:
    first = postmaster.ensure_server(data, programs)
    query(data, "CREATE TABLE IF NOT EXISTS kept (number int)")
    query(data, "INSERT INTO kept VALUES (1)")
    os.kill(first.pid, signal.SIGKILL)
    processes.until(lambda: not first.is_alive())
    second = postmaster.ensure_server(data, programs)
    try:
        assert query(data, "SELECT FROM kept") == "SELECT 1"
    finally:
        query(data, "DROP TABLE kept")
        second.stop()


def test_busy_processes_of_a_killed_server_are_ended(data: Cluster, programs: str) -> None:
    first = postmaster.ensure_server(data, programs)
    with closing(connect(data)) as connection:
        endless = b"SELECT count(*) FROM generate_series(1, 1000000000000000)"
        connection.pgconn.send_query(endless)
        (busy,) = processes.until(lambda: [p for p in processes.of(data) if _is_busy(p)])
        os.kill(first.pid, signal.SIGKILL)
        processes.until(lambda: not first.is_alive())
        assert _is_busy(busy)
        second = postmaster.ensure_server(data, programs)
    assert busy not in processes.of(data)
    second.stop()


def _is_busy(process: psutil.Process) -> bool:
    return "SELECT" in processes.title_of(process)


def test_a_server_without_a_keeper_is_adopted(server: Postmaster, data: Cluster) -> None:
    found = postmaster.ensure_server(data, "/no/programs/needed")
    assert found.pid == server.pid
    assert found.is_alive()
    assert not found.is_child()


def test_an_adopted_servers_end_is_noticed(server: Postmaster, data: Cluster) -> None:
    found = postmaster.ensure_server(data, "/no/programs/needed")
    os.kill(server.pid, signal.SIGKILL)
    processes.until(lambda: not found.is_alive())


def test_an_adopted_server_can_be_stopped(data: Cluster, programs: str) -> None:
    server = postmaster.ensure_server(data, programs)
    found = postmaster.ensure_server(data, programs)
    found.stop()
    processes.until(lambda: not server.is_alive())


def test_a_server_that_does_not_say_its_process_id_is_named(
    server: Postmaster, data: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "PIDFILE_TIMEOUT_S", 0.05)
    monkeypatch.setattr(pidfile, "read_pid", lambda cluster: None)
    with pytest.raises(ServerError, match="does not say its process id"):
        postmaster.ensure_server(data, "/none")


def test_a_server_that_does_not_end_is_killed(
    data: Cluster, programs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = postmaster.ensure_server(data, programs)
    monkeypatch.setattr(postmaster, "FAST_STOP_S", 0.05)
    monkeypatch.setattr(postmaster, "IMMEDIATE_STOP_S", 0.05)
    os.kill(server.pid, signal.SIGSTOP)
    server.stop()
    processes.until(lambda: not server.is_alive())


def test_a_server_that_exits_at_start_reports_the_reason(data: Cluster, programs: str) -> None:
    broken = Path(data.data_folder, "postgresql.auto.conf")
    before = broken.read_text()
    broken.write_text("shared_buffers = 'rubbish'\n")
    try:
        with pytest.raises(ServerError, match=r"does not start: .*; see .*postgres\.log"):
            postmaster.ensure_server(data, programs)
    finally:
        broken.write_text(before)
    processes.until(lambda: not processes.of(data))


def test_a_server_that_does_not_come_up_is_stopped_again(
    data: Cluster, programs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postmaster, "PIDFILE_TIMEOUT_S", 0.0)
    monkeypatch.setattr(pidfile, "is_ready", lambda cluster, pid: False)
    monkeypatch.setattr(pidfile, "is_starting", lambda cluster: False)
    with pytest.raises(ServerError, match="does not start"):
        postmaster.ensure_server(data, programs)
    processes.until(lambda: not processes.of(data))


def test_a_program_that_is_missing_is_named(data: Cluster) -> None:
    with pytest.raises(ServerError, match="/none/bin/postgres"):
        postmaster.ensure_server(data, "/none")


def test_a_server_that_cannot_take_its_lock_is_not_started(
    data: Cluster, programs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise BlockingIOError(descriptor)

    monkeypatch.setattr(locks, "take_record_lock", refuse)
    monkeypatch.setattr(locks, "is_record_held", lambda path: False)
    with pytest.raises(ServerError, match="does not start: Exception occurred in preexec_fn"):
        postmaster.ensure_server(data, programs)


def test_another_servers_processes_on_the_data_are_an_error(
    data: Cluster, programs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "clear_leftovers", lambda cluster: None)
    held = locks.acquire(data.server_lock)
    assert held is not None
    with pytest.raises(ServerError, match="another PostgreSQL"):
        postmaster.ensure_server(data, programs)
    os.close(held)


def test_a_large_log_is_moved_aside_and_written_on(data: Cluster) -> None:
    log = Path(data.log_file)
    text = "x" * (data.log_bytes + 1)
    with log.open("w") as writer:
        writer.write(text)
    with log.open("a") as server:
        postmaster.rotate_log(data)
        server.write("more\n")
    assert log.read_text() == "more\n"
    assert Path(f"{log}.1").read_text() == text


def test_a_small_or_missing_log_is_left_alone(data: Cluster) -> None:
    log = Path(data.log_file)
    log.write_text("small")
    postmaster.rotate_log(data)
    assert log.read_text() == "small"
    log.unlink()
    postmaster.rotate_log(data)


def test_a_log_that_cannot_be_kept_is_emptied(
    data: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    Path(data.log_file).write_text("x" * (data.log_bytes + 1))
    monkeypatch.setattr(postmaster.shutil, "copyfile", full)
    postmaster.rotate_log(data)
    assert Path(data.log_file).read_text() == ""
