"""Removes the processes and files of a killed server once it is proven dead; part of the keeper.

When its first process was killed, the others end by themselves unless they are busy; a new server
refuses to start beside them. Files that name the dead process also remain, and its number may
meanwhile belong to another process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

from gateway_project.foundation.postgres import locks, pidfile
from gateway_project.foundation.postgres.cluster import Cluster, ServerError

GRACE_S = 0.5
"""Time for the processes of a dead server to notice and end by themselves."""

KILL_S = 5.0

PROC = "/proc"
LSOF = "/usr/sbin/lsof"


def clear_leftovers(cluster: Cluster) -> None:
    """End the processes and remove the files of a server whose first process is dead.

    Raises:
        ServerError: If they do not end, or another program runs a server on the data.
    """
    _end_processes(cluster)
    pid = pidfile.read_pid(cluster)
    if pid and _read_working_folder(pid) == os.path.realpath(cluster.data_folder):
        raise ServerError(
            f"process {pid} serves {cluster.data_folder} and was not started by Foregate: stop it "
            f"(`kill -INT {pid}`) and start again"
        )
    for path in (
        pidfile.pidfile_path(cluster),
        cluster.socket_file,
        f"{cluster.socket_file}.lock",
    ):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _end_processes(cluster: Cluster) -> None:
    if _wait_until_free(cluster, GRACE_S):
        return
    for pid in _find_lock_holders(cluster):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if not _wait_until_free(cluster, KILL_S):
        raise ServerError(
            f"processes of a killed PostgreSQL still use {cluster.data_folder} and do not end: "
            f"{', '.join(map(str, _find_lock_holders(cluster)))}; end them or restart the machine"
        )


def _wait_until_free(cluster: Cluster, timeout_s: float) -> bool:
    descriptor = locks.acquire(cluster.server_lock, wait_s=timeout_s)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def find_holders(path: str) -> list[int]:
    """Return the processes that have a file open, as far as this one may know."""
    path = os.path.realpath(path)
    if not os.path.isdir(PROC):
        return list(map(int, _run_lsof("-t", "--", path)))
    return [
        int(name) for name in os.listdir(PROC) if name.isdigit() and _has_open(int(name), path)
    ]


def _find_lock_holders(cluster: Cluster) -> list[int]:
    """Return the processes that inherited the server's lock and whose cwd is its data folder."""
    folder = os.path.realpath(cluster.data_folder)
    holders = find_holders(cluster.server_lock)
    return [pid for pid in holders if _read_working_folder(pid) == folder]


def _has_open(pid: int, path: str) -> bool:
    links = f"{PROC}/{pid}/fd"
    with contextlib.suppress(OSError):
        return any(_read_link(f"{links}/{name}") == path for name in os.listdir(links))
    return False


def _read_working_folder(pid: int) -> str | None:
    """Return a process's cwd, or None if it is dead, a zombie, or another user's."""
    if os.path.isdir(PROC):
        return _read_link(f"{PROC}/{pid}/cwd")
    lines = _run_lsof("-a", "-p", str(pid), "-d", "cwd", "-Fn")
    return next((line[1:] for line in lines if line.startswith("n")), None)


def _read_link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _run_lsof(*arguments: str) -> list[str]:
    """Run lsof, which replaces /proc on macOS; its exit status is 1 if it finds nothing."""
    result = subprocess.run([LSOF, *arguments], capture_output=True, check=False, timeout=KILL_S)
    return result.stdout.decode(errors="replace").splitlines()
