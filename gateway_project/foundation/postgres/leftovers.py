"""What a server that was killed leaves behind, removed once it is proven dead; for the keeper.

After a kill of its first process, the others end by themselves unless they are busy; a new server
refuses to start beside them. Files that name the dead process stay, too, and may by then name
another one that happens to have its number.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

from gateway_project.foundation.postgres import locks, pidfile
from gateway_project.foundation.postgres.cluster import Cluster, ServerError

GRACE_S = 0.5
"""For the processes of a dead server to notice and end by themselves."""

KILL_S = 5.0

PROC = "/proc"
LSOF = "/usr/sbin/lsof"


def clear(cluster: Cluster) -> None:
    """End the processes and remove the files of a server whose first process is dead.

    Raises:
        ServerError: If they do not end, or somebody else runs a server on the data.
    """
    _end_processes(cluster)
    pid = pidfile.pid(cluster)
    if pid and _working_folder(pid) == os.path.realpath(cluster.data):
        raise ServerError(
            f"process {pid} serves {cluster.data} and was not started by Foregate: stop it "
            f"(`kill -INT {pid}`) and start again"
        )
    for path in (
        pidfile.path(cluster),
        cluster.socket_file,
        f"{cluster.socket_file}.lock",
    ):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _end_processes(cluster: Cluster) -> None:
    if _wait_until_free(cluster, GRACE_S):
        return
    for pid in _holders(cluster):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if not _wait_until_free(cluster, KILL_S):
        raise ServerError(
            f"processes of a killed PostgreSQL still use {cluster.data} and do not end: "
            f"{', '.join(map(str, _holders(cluster)))}; end them or restart the machine"
        )


def _wait_until_free(cluster: Cluster, timeout_s: float) -> bool:
    descriptor = locks.acquire(cluster.server_lock, wait_s=timeout_s)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True


def _holders(cluster: Cluster) -> list[int]:
    """Return the processes that inherited the server's lock and work in its data folder."""
    lock, folder = os.path.realpath(cluster.server_lock), os.path.realpath(cluster.data)
    if not os.path.isdir(PROC):
        found = _lsof("-t", "--", lock)
        return [pid for pid in map(int, found) if _working_folder(pid) == folder]
    pids = [int(name) for name in os.listdir(PROC) if name.isdigit()]
    return [pid for pid in pids if _working_folder(pid) == folder and _has_open(pid, lock)]


def _has_open(pid: int, path: str) -> bool:
    links = f"{PROC}/{pid}/fd"
    with contextlib.suppress(OSError):
        return any(_link(f"{links}/{name}") == path for name in os.listdir(links))
    return False


def _working_folder(pid: int) -> str | None:
    """Where a process works, or None if it is dead, a zombie, or somebody else's."""
    if os.path.isdir(PROC):
        return _link(f"{PROC}/{pid}/cwd")
    lines = _lsof("-a", "-p", str(pid), "-d", "cwd", "-Fn")
    return next((line[1:] for line in lines if line.startswith("n")), None)


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


def _lsof(*arguments: str) -> list[str]:
    """Ask the tool that macOS has in place of /proc; it fails where it finds nothing."""
    done = subprocess.run([LSOF, *arguments], capture_output=True, check=False, timeout=KILL_S)
    return done.stdout.decode(errors="replace").splitlines()
