"""Makes sure that the embedded database runs; called by each process that uses it.

A user of the database holds a shared lock as long as it lives; the kernel releases it however the
process dies. The server is run by a separate process (`keeper`). If that is killed together with
its guard, the next connection starts another: a server without a keeper would never be stopped.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from gateway_project.foundation.postgres import (
    binaries,
    folders,
    keeper,
    locks,
    patience,
    pidfile,
)
from gateway_project.foundation.postgres.cluster import NAME, PORT, Cluster, ServerError

START_TIMEOUT_S = 60.0
POLL_S = 0.02
PING_TIMEOUT_S = 2
"""The shortest that libpq knows, for a server that accepts connections and does not answer."""

MAX_SILENT_KEEPERS = 3
"""Keepers that may end without a report, for instance because they were killed at their start."""

PASSED_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""Environment variables that some builds of Python need to start."""

_user_locks: dict[str, int] = {}
_state_lock = threading.Lock()
"""May be held as long as a server takes to start or to stop."""


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
        if not locks.is_free(cluster.upgrade_lock):
            raise ServerError(
                f"the data in {cluster.base} is being moved to PostgreSQL {binaries.MAJOR} by "
                "`manage.py upgrade`: try again when that has ended"
            )
        if _is_answering(cluster):
            start_keeper(cluster)
            return
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
                f"the embedded PostgreSQL did not come up in time; see {cluster.log_file}"
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
    """Start a keeper for a running server that has none; does not wait for it."""
    if locks.is_free(cluster.keeper_lock):
        _start_keeper(cluster, deadline=None)


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


def _is_answering(cluster: Cluster) -> bool:
    """Whether the server takes connections; it is not asked while it starts or stops.

    Each question would cost it a process and a line in its log.
    """
    if pidfile.is_starting(cluster):
        return False
    conninfo = make_conninfo(
        host=cluster.socket_folder,
        port=PORT,
        user=NAME,
        dbname=NAME,
        connect_timeout=PING_TIMEOUT_S,
    )
    return PGconn.ping(conninfo.encode()) == Ping.OK


def _start_keeper(cluster: Cluster, deadline: float | None) -> str:
    """Start a keeper; with a deadline, wait for its report and return it.

    Raises:
        ServerError: The keeper's report if the server does not start.
    """
    folders.prepare_folders(cluster)
    here = os.path.dirname(os.path.abspath(__file__))
    entry = os.path.join(here, "__main__.py")
    words = [sys.executable, "-I", "-S", entry, cluster.to_json()]
    words.append(cluster.programs or binaries.find_programs())
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
    with process:
        left_s = 0.0 if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            report, _ = process.communicate(timeout=left_s)
        except subprocess.TimeoutExpired:
            report = b""
    line = report.decode(errors="replace").strip()
    if line.startswith(keeper.FAILED_REPORT):
        raise ServerError(line.removeprefix(keeper.FAILED_REPORT))
    return line
