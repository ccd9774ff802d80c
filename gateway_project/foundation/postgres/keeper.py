"""The process that keeps the embedded database: one for each data folder.

It starts PostgreSQL as its child, starts it again when it dies, and stops it once nobody has used
it for a while. No user of the database is its parent or child, so any of them may be killed. If
the keeper itself is killed, the server goes on, and the keeper that the next connection starts
takes it over.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable

from gateway_project.foundation.postgres import binaries, locks, postmaster
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from gateway_project.foundation.postgres.folders import unusable
from gateway_project.foundation.postgres.postmaster import Postmaster

READY = "ready"
BUSY = "busy"
FAILED = "failed "
"""First words of the one line that a keeper reports to the process that started it."""

TITLE = "foregate-keeper"
SHOWN_NAME = "/proc/self/comm"
LOCK_WAIT_S = 0.2
"""Others look whether the lock is free by taking it for a moment."""

LONGEST_TICK_S = 1.0
ADOPTED_TICK_S = 0.2
RESTART_DELAYS_S = (0.0, 0.1, 0.5, 1.0, 2.0)


def main(arguments: list[str]) -> None:
    """Detach from the process that started this one, report to it, and keep the server.

    Args:
        arguments: The cluster as JSON and the folder of PostgreSQL's programs.
    """
    cluster, programs = Cluster.from_json(arguments[0]), arguments[1]
    if os.fork():
        os._exit(0)
    os.umask(0o077)
    _become(cluster)
    _entitle()
    keep(cluster, programs, report=_reporter(sys.stdout.fileno()), wake=_signals())


def keep(cluster: Cluster, programs: str, *, report: Callable[[str], None], wake: int) -> None:
    """Run the server until nobody needs it, or it cannot run, or this process shall end.

    Args:
        cluster: What to keep.
        programs: Folder of PostgreSQL's programs.
        report: Called once, when the server serves or is known not to.
        wake: Descriptor that turns readable when a child dies, and yields the number of the
            signal; SIGTERM and SIGINT end the keeper.
    """
    lock = locks.acquire(cluster.keeper_lock, uid=cluster.keeper.uid, wait_s=LOCK_WAIT_S)
    if lock is None:
        report(BUSY)
        return
    try:
        programs = binaries.for_server(programs, cluster)
        server = postmaster.ensure(cluster, programs)
    except OSError as error:
        report(f"{FAILED}{unusable(error.filename or cluster.base, error)}")
    except ServerError as error:
        report(f"{FAILED}{error}")
    else:
        report(READY)
        _watch(cluster, programs, server, lock, wake)
    finally:
        os.close(lock)


def _watch(cluster: Cluster, programs: str, server: Postmaster, lock: int, wake: int) -> None:
    quiet = Quiet(cluster)
    while True:
        ended = _wait(wake, _tick_s(cluster, server))
        if not locks.is_current(lock, cluster.keeper_lock):
            server.stop(immediately=True)  # the folder was removed: there is nothing to keep
            return
        if ended or quiet.has_lasted():
            server.stop()
            return
        if not server.is_alive():
            revived = _revive(cluster, programs)
            if revived is None:
                return
            server = revived
        postmaster.rotate_log(cluster)


class Quiet:
    """How long nobody has used the database.

    Once it lasted long enough the users' lock is kept, exclusively, to the end of the process:
    whoever comes while the server stops waits until it is gone, and then starts it anew.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._since: float | None = None
        self._lock: int | None = None

    def has_lasted(self) -> bool:
        """Look for users; True once there were none for the cluster's linger time."""
        lock = locks.acquire(self._cluster.users_lock, uid=self._cluster.keeper.uid)
        if lock is None:
            self._since = None
            return False
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if now - self._since >= self._cluster.linger_s:
            self._lock = lock
            return True
        os.close(lock)
        return False


def _tick_s(cluster: Cluster, server: Postmaster) -> float:
    longest = LONGEST_TICK_S if server.is_ours() else ADOPTED_TICK_S
    return min(longest, max(cluster.linger_s / 4, 0.05))


def _revive(cluster: Cluster, programs: str) -> Postmaster | None:
    """Start a dead server again; give up after a few times, for the next user to hear why."""
    _log("the server died; starting it again")
    for delay_s in RESTART_DELAYS_S:
        time.sleep(delay_s)
        try:
            return postmaster.ensure(cluster, programs)
        except ServerError as error:
            _log(str(error))
    return None


def _wait(wake: int, timeout_s: float) -> bool:
    """Sleep until a signal comes or the time is over; True if this process shall end."""
    readable, _, _ = select.select([wake], [], [], timeout_s)
    numbers = os.read(wake, 256) if readable else b""
    return signal.SIGTERM in numbers or signal.SIGINT in numbers


def _signals() -> int:
    """Have signals written to a pipe, whose reading end is returned."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return reader


def _become(cluster: Cluster) -> None:
    """Give up being root unless the keeper is root's.

    Python's own files may be out of reach from here on, so nothing may be imported later: no
    text encoding but UTF-8, which is built in, either.
    """
    uid, gid, name = cluster.keeper
    if os.geteuid() == 0 and uid != 0:
        os.initgroups(name, gid)
        os.setgid(gid)
        os.setuid(uid)


def _entitle() -> None:
    """Show in lists of processes what this one is, where the system lets it."""
    with contextlib.suppress(OSError), open(SHOWN_NAME, "w", encoding="utf-8") as file:
        file.write(TITLE)


def _reporter(descriptor: int) -> Callable[[str], None]:
    """Tell the process that started this one, which may be gone, and let go of it."""

    def report(line: str) -> None:
        with contextlib.suppress(OSError):
            os.write(descriptor, line.encode() + b"\n")
        silence = os.open(os.devnull, os.O_RDWR)
        os.dup2(silence, descriptor)
        os.close(silence)
        if line != BUSY:
            _log(line)

    return report


def _log(line: str) -> None:
    """Write among the server's own lines: the keeper's stderr is the same file."""
    with contextlib.suppress(OSError):
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        sys.stderr.write(f"{stamp} UTC [{os.getpid()}] KEEPER:  {line}\n")
        sys.stderr.flush()
