"""What a killed server leaves behind is told from what lives."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import folders, leftovers, locks, pidfile
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from tests.patience import PATIENCE_S


@pytest.fixture
def data(cluster: Cluster) -> Cluster:
    folders.prepare_folders(cluster)
    Path(cluster.data_folder).mkdir()
    return cluster


@pytest.fixture
def bystander(data: Cluster) -> Iterator[subprocess.Popen[bytes]]:
    """A living process that has nothing to do with PostgreSQL."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd="/")
    with process:
        yield process
        process.kill()


def holder(cluster: Cluster, *, folder: str) -> subprocess.Popen[bytes]:
    """A process that inherited the server's lock, as those of a killed server have."""
    lock = locks.acquire(cluster.server_lock)
    assert lock is not None
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=folder, pass_fds=[lock]
    )
    os.close(lock)
    return process


def test_removes_the_files_of_a_dead_server(data: Cluster) -> None:
    Path(pidfile.pidfile_path(data)).write_text("999999999\n")
    Path(f"{data.socket_file}.lock").write_text("999999999\n")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(data.socket_file)
    leftovers.clear_leftovers(data)
    assert os.listdir(data.socket_folder) == []
    assert os.listdir(data.data_folder) == []


def test_a_process_that_reused_the_dead_servers_pid_is_left_alone(
    data: Cluster, bystander: subprocess.Popen[bytes]
) -> None:
    Path(pidfile.pidfile_path(data)).write_text(f"{bystander.pid}\n")
    leftovers.clear_leftovers(data)
    assert bystander.poll() is None
    assert pidfile.read_pid(data) is None


def test_a_server_that_somebody_else_started_is_named_and_left_alone(data: Cluster) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=data.data_folder
    )
    with process:
        Path(pidfile.pidfile_path(data)).write_text(f"{process.pid}\n")
        with pytest.raises(ServerError, match=f"process {process.pid} serves .*kill -INT"):
            leftovers.clear_leftovers(data)
        assert process.poll() is None
        assert pidfile.read_pid(data) == process.pid
        process.kill()


def test_the_dead_servers_processes_are_ended(data: Cluster) -> None:
    with holder(data, folder=data.data_folder) as process:
        leftovers.clear_leftovers(data)
        assert process.wait(PATIENCE_S) < 0
    assert locks.is_free(data.server_lock)


def test_a_lock_holder_outside_the_data_folder_is_not_killed(
    data: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "GRACE_S", 0.0)
    monkeypatch.setattr(leftovers, "KILL_S", 0.0)
    with holder(data, folder="/") as process:
        with pytest.raises(ServerError, match="do not end"):
            leftovers.clear_leftovers(data)
        assert process.poll() is None
        process.kill()


def test_without_proc_the_system_is_asked_for_the_processes(
    data: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with holder(data, folder=data.data_folder) as process:
        tool = tmp_path / "lsof"
        tool.write_text(
            "#!/bin/sh\n"
            f'case "$*" in "-t -- {data.server_lock}") echo {process.pid}; echo 1 ;;\n'
            f'"-a -p {process.pid} -d cwd -Fn") echo p{process.pid}; echo fcwd; '
            f"echo n{data.data_folder} ;;\n*) exit 1 ;; esac\n"
        )
        tool.chmod(0o755)
        monkeypatch.setattr(leftovers, "PROC", str(tmp_path / "none"))
        monkeypatch.setattr(leftovers, "LSOF", str(tool))
        monkeypatch.setattr(leftovers, "KILL_S", PATIENCE_S)
        leftovers.clear_leftovers(data)
        assert process.wait(PATIENCE_S) < 0
