"""The keeper: the process that runs the embedded database, one for each data folder.

It starts PostgreSQL as its child, restarts it when it dies, and stops it after it has been unused
for a while. No user of the database is its parent or child, so any of them may be killed. If the
keeper itself is killed, the server keeps running, and the keeper's parent, the guard, starts a new
keeper that adopts the server.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

from gateway_project.foundation.postgres import binaries, locks, postmaster
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from gateway_project.foundation.postgres.folders import explain_unusable
from gateway_project.foundation.postgres.postmaster import Postmaster

READY_REPORT = "ready"
BUSY_REPORT = "busy"
FAILED_REPORT = "failed "
"""First words of the one line that a keeper reports to the process that started it."""

KEEPER_TITLE = "foregate-keeper"
GUARD_TITLE = "foregate-guard"
COMM_FILE = "/proc/self/comm"
LOCK_WAIT_S = 0.2
"""Other processes test whether the lock is free by acquiring it for a moment."""

MAX_TICK_S = 1.0
ADOPTED_TICK_S = 0.2
GUARD_DELAY_S = 0.1
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
    _drop_privileges(cluster)
    _fork_guarded_keeper()
    _set_process_title(KEEPER_TITLE)
    keep_server(
        cluster, programs, report=_make_reporter(sys.stdout.fileno()), wake=_open_signal_pipe()
    )


def keep_server(
    cluster: Cluster, programs: str, *, report: Callable[[str], None], wake: int
) -> None:
    """Run the server until it is unused, cannot run, or this process is asked to stop.

    Args:
        cluster: The cluster to serve.
        programs: Folder of PostgreSQL's programs.
        report: Called once, when the server is ready or has failed.
        wake: Descriptor that becomes readable when a signal arrives, such as for the death of a
            child, and yields its number; SIGTERM and SIGINT end the keeper.
    """
    lock = locks.acquire(cluster.keeper_lock, uid=cluster.keeper.uid, wait_s=LOCK_WAIT_S)
    if lock is None:
        report(BUSY_REPORT)
        return
    try:
        programs = binaries.prepare_for_server(programs, cluster)
        server = postmaster.ensure_server(cluster, programs)
    except OSError as error:
        report(f"{FAILED_REPORT}{explain_unusable(error.filename or cluster.base, error)}")
    except ServerError as error:
        report(f"{FAILED_REPORT}{error}")
    else:
        report(READY_REPORT)
        _watch_server(cluster, programs, server, lock, wake)
    finally:
        os.close(lock)


def _watch_server(
    cluster: Cluster, programs: str, server: Postmaster, lock: int, wake: int
) -> None:
    idle_time = IdleTime(cluster)
    while True:
        must_stop = _wait_for_signal(wake, _compute_tick_s(cluster, server))
        if not locks.is_current(lock, cluster.keeper_lock):
            server.stop(immediately=True)  # the folder was removed, and the data with it
            return
        if must_stop or idle_time.has_expired():
            server.stop()
            return
        if not server.is_alive():
            restarted = _restart_server(cluster, programs)
            if restarted is None:
                return
            server = restarted
        postmaster.rotate_log(cluster)


class IdleTime:
    """Measures how long the database has been unused.

    Once the linger time has passed, the users' lock is held exclusively until the process ends: a
    new user waits until the server has stopped, and then starts it again.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._idle_since: float | None = None
        self._lock: int | None = None

    def has_expired(self) -> bool:
        """Check for users; True once there were none for the cluster's linger time."""
        lock = locks.acquire(self._cluster.users_lock, uid=self._cluster.keeper.uid)
        if lock is None:
            self._idle_since = None
            return False
        now = time.monotonic()
        if self._idle_since is None:
            self._idle_since = now
        if now - self._idle_since >= self._cluster.linger_s:
            self._lock = lock
            return True
        os.close(lock)
        return False


def _compute_tick_s(cluster: Cluster, server: Postmaster) -> float:
    longest = MAX_TICK_S if server.is_child() else ADOPTED_TICK_S
    return min(longest, max(cluster.linger_s / 4, 0.05))


def _restart_server(cluster: Cluster, programs: str) -> Postmaster | None:
    """Restart a dead server; give up after a few attempts, so the next user gets the error."""
    _log_line("the server died; starting it again")
    for delay_s in RESTART_DELAYS_S:
        time.sleep(delay_s)
        try:
            return postmaster.ensure_server(cluster, programs)
        except ServerError as error:
            _log_line(str(error))
    return None


def _wait_for_signal(wake: int, timeout_s: float) -> bool:
    """Sleep until a signal arrives or the timeout expires; True if this process must stop."""
    readable, _, _ = select.select([wake], [], [], timeout_s)
    numbers = os.read(wake, 256) if readable else b""
    return signal.SIGTERM in numbers or signal.SIGINT in numbers


def _open_signal_pipe() -> int:
    """Have signals written to a pipe; return its read end."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    return reader


def _drop_privileges(cluster: Cluster) -> None:
    """Drop root's privileges unless the keeper runs as root.

    Python's own files may be unreadable afterwards, so nothing may be imported later, including
    any text encoding but UTF-8, which is built in.
    """
    uid, gid, name = cluster.keeper
    if os.geteuid() == 0 and uid != 0:
        os.initgroups(name, gid)
        os.setgid(gid)
        os.setuid(uid)


def _fork_guarded_keeper() -> None:
    """Return in a child, the keeper; the parent, its guard, forks another when it is killed.

    The guard ends when a keeper exits by itself, and forwards signals that ask it to stop.
    """
    _set_process_title(GUARD_TITLE)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    while keeper := os.fork():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, partial(_forward_signal, keeper))
        # A process that waits for the first keeper's report must not wait for a later keeper.
        _redirect_to_null(sys.stdout.fileno())
        _, status = os.waitpid(keeper, 0)
        if not os.WIFSIGNALED(status):
            os._exit(0)
        _log_line("the keeper was killed; starting another")
        time.sleep(GUARD_DELAY_S)


def _forward_signal(keeper: int, number: int, _frame: object) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(keeper, number)


def _set_process_title(title: str) -> None:
    """Set the name of this process in process lists, if the system allows it."""
    with contextlib.suppress(OSError), open(COMM_FILE, "w", encoding="utf-8") as file:
        file.write(title)


def _make_reporter(descriptor: int) -> Callable[[str], None]:
    """Return a function that reports to the starting process, then detaches from it."""

    def report(line: str) -> None:
        with contextlib.suppress(OSError):
            os.write(descriptor, line.encode() + b"\n")
        _redirect_to_null(descriptor)
        if line != BUSY_REPORT:
            _log_line(line)

    return report


def _redirect_to_null(descriptor: int) -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    os.dup2(silence, descriptor)
    os.close(silence)


def _log_line(line: str) -> None:
    """Write a line to stderr, which is the server's log file."""
    with contextlib.suppress(OSError):
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        sys.stderr.write(f"{stamp} UTC [{os.getpid()}] KEEPER:  {line}\n")
        sys.stderr.flush()
