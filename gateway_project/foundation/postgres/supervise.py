"""Makes sure that the embedded database runs; called by each process that uses it.

A user of the database holds a shared lock as long as it lives; the kernel releases it however the
process dies. The server is run by a separate process (`keeper`). If that is killed together with
its guard, the users of the database start another: a server without a keeper would never be
stopped.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from gateway_project.foundation.postgres import (
    binaries,
    folders,
    keeper,
    locks,
    patience,
    pidfile,
    wire,
)
from gateway_project.foundation.postgres.cluster import Cluster, ServerError

START_TIMEOUT_S = 60.0
POLL_S = 0.02
MIN_PROBE_S = 0.1
"""For a server that runs, even if the time for waiting is over."""

MAX_SILENT_KEEPERS = 3
"""Keepers that may end without a report, for instance because they were killed at their start."""

PASSED_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""Environment variables that some builds of Python need to start."""

RETRY_S = 1.0
"""Delay between failed attempts to replace a keeper."""

_user_locks: dict[str, int] = {}
_watched_clusters: set[Cluster] = set()
_state_lock = threading.Lock()
"""May be held as long as a server takes to start or to stop."""
_watch_lock = threading.Lock()


def ensure_running(cluster: Cluster, *, timeout_s: float | None = None) -> None:
    """Return once the embedded database is ready; start it if it does not run.

    May be called by any number of processes and threads at once. Without a time limit of its own
    it waits as long as `patience` allows.

    Raises:
        ServerError: If it cannot be started; one line that says what to do.
    """
    if timeout_s is None:
        timeout_s = patience.begin_wait(START_TIMEOUT_S)
    deadline = time.monotonic() + timeout_s
    register_user(cluster, timeout_s=timeout_s)
    silent_keepers = 0
    while True:
        answer = _probe_server(cluster, deadline)
        if answer.state is wire.SocketState.READY:
            start_keeper(cluster)
            return
        if answer.state is wire.SocketState.REFUSING:
            raise ServerError(f"the embedded PostgreSQL refuses connections: {answer.message}")
        with _lock_state(cluster, deadline):
            if locks.is_free(cluster.keeper_lock):
                silent_keepers += not _start_keeper(cluster, deadline)
                if silent_keepers < MAX_SILENT_KEEPERS:
                    continue
                raise ServerError(
                    "the keeper of the embedded PostgreSQL ends without a message; see "
                    f"{cluster.log_file}"
                )
        if time.monotonic() > deadline:
            raise ServerError(
                "the embedded PostgreSQL did not come up in time "
                f"({answer.message}); see {cluster.log_file}"
            )
        time.sleep(POLL_S)


def register_user(cluster: Cluster, *, timeout_s: float | None = None) -> None:
    """Register this process as a user of the database until it ends.

    Raises:
        ServerError: If the folders cannot be used or a stopping server does not end.
    """
    if _is_registered(cluster):
        return
    if timeout_s is None:
        timeout_s = patience.begin_wait(START_TIMEOUT_S)
    deadline = time.monotonic() + timeout_s
    with _lock_state(cluster, deadline):
        if _is_registered(cluster):
            return
        if cluster.users_lock in _user_locks:
            os.close(_user_locks.pop(cluster.users_lock))
        folders.prepare_folders(cluster)
        try:
            lock = locks.acquire(
                cluster.users_lock,
                shared=True,
                uid=cluster.keeper.uid,
                wait_s=deadline - time.monotonic(),
            )
        except OSError as error:
            raise folders.explain_unusable(cluster.users_lock, error) from None
        if lock is None:
            raise ServerError(
                f"the embedded PostgreSQL is stopping and does not end; see {cluster.log_file}"
            )
        _user_locks[cluster.users_lock] = lock


def unregister_user(cluster: Cluster) -> None:
    """Unregister this process as a user, even if it has open connections."""
    with _state_lock:
        lock = _user_locks.pop(cluster.users_lock, None)
    if lock is not None:
        os.close(lock)


def start_keeper(cluster: Cluster) -> None:
    """Make sure that a running server has a keeper as long as this process uses it."""
    if locks.is_free(cluster.keeper_lock):
        _start_keeper(cluster, deadline=None)
    with _watch_lock:
        if cluster in _watched_clusters:
            return
        _watched_clusters.add(cluster)
    name = f"keeper watch {cluster.base}"
    threading.Thread(target=_watch_keeper, args=(cluster,), name=name, daemon=True).start()


def _watch_keeper(cluster: Cluster) -> None:
    """Replace the keeper each time it dies, until the server has stopped too."""
    while True:
        with contextlib.suppress(OSError):  # the home folder was removed
            locks.wait_until_free(cluster.keeper_lock)
        if not _replace_keeper(cluster):
            break
        if locks.is_free(cluster.keeper_lock):  # it is still starting, or failed to
            time.sleep(RETRY_S)
    _watched_clusters.discard(cluster)


def _replace_keeper(cluster: Cluster) -> bool:
    """Start a keeper for a server that has none; return False if there is no server.

    A keeper that is asked to stop stops its server first, so that it leaves none behind.
    """
    if not locks.is_free(cluster.keeper_lock):
        return True
    if not _is_registered(cluster) or _probe_server(cluster).state is wire.SocketState.ABSENT:
        return False
    with contextlib.suppress(ServerError):  # the next connection reports it
        _start_keeper(cluster, deadline=None)
    return True


@contextlib.contextmanager
def _lock_state(cluster: Cluster, deadline: float) -> Iterator[None]:
    """Hold the lock of the state in the block.

    Raises:
        ServerError: If another thread holds it beyond the deadline.
    """
    if not _state_lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
        raise ServerError(
            f"the embedded PostgreSQL is starting or stopping; see {cluster.log_file}"
        )
    try:
        yield
    finally:
        _state_lock.release()


def _is_registered(cluster: Cluster) -> bool:
    lock = _user_locks.get(cluster.users_lock)
    return lock is not None and locks.is_current(lock, cluster.users_lock)


def _probe_server(cluster: Cluster, deadline: float | None = None) -> wire.ProbeResult:
    if pidfile.is_starting(cluster):
        return wire.ProbeResult(wire.SocketState.STARTING, "it is starting or stopping")
    if deadline is None:
        return wire.probe_server(cluster.socket_file)
    left_s = max(MIN_PROBE_S, deadline - time.monotonic())
    return wire.probe_server(cluster.socket_file, timeout_s=min(left_s, wire.TIMEOUT_S))


def _start_keeper(cluster: Cluster, deadline: float | None) -> str:
    """Start a keeper; with a deadline, wait for its report and return it.

    Raises:
        ServerError: The keeper's report if the server does not start.
    """
    folders.prepare_folders(cluster)
    here = os.path.dirname(os.path.abspath(__file__))
    entry = os.path.join(here, "__main__.py")
    words = [sys.executable, "-I", "-S", entry, cluster.to_json(), binaries.find_programs()]
    environment = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
    environment |= {key: os.environ[key] for key in PASSED_VARIABLES if key in os.environ}
    try:
        log = locks.open_log(cluster.log_file, cluster.keeper.uid)
    except OSError as error:
        raise folders.explain_unusable(cluster.log_file, error) from None
    try:
        process = subprocess.Popen(
            words,
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        raise ServerError(f"cannot run {sys.executable}: {error.strerror}") from None
    finally:
        os.close(log)
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    with process.stdout as pipe:
        process.wait()
        line = _read_line(pipe.fileno(), deadline) if deadline is not None else ""
    if line.startswith(keeper.FAILED_REPORT):
        raise ServerError(line.removeprefix(keeper.FAILED_REPORT))
    return line


def _read_line(descriptor: int, deadline: float) -> str:
    """Read until the end of the line or of the pipe, or until the deadline."""
    read = b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not read.endswith(b"\n"):
        left_s = max(0.0, deadline - time.monotonic())
        if not poll.poll(left_s * 1000):
            break
        chunk = os.read(descriptor, 4096)
        if not chunk:
            break
        read += chunk
    return read.decode(errors="replace").strip()
