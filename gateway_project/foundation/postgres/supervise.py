"""Have the embedded database running: what each process that uses it calls.

A user holds a shared lock for as long as it lives; the kernel lets go of it whatever way it dies.
The server itself is kept by a process of its own (`keeper`).
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time

from gateway_project.foundation.postgres import binaries, folders, keeper, locks, pidfile, wire
from gateway_project.foundation.postgres.cluster import Cluster, ServerError

START_TIMEOUT_S = 60.0
POLL_S = 0.02
MAX_SILENT = 3
"""Keepers that may end without having reported, as one does that is killed at its start."""

KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
"""Some builds of Python do not start without."""

_held: dict[str, int] = {}
_guard = threading.Lock()


def ensure_running(cluster: Cluster, *, timeout_s: float = START_TIMEOUT_S) -> None:
    """Return once the embedded database serves, starting it if it does not.

    Safe to call from any number of processes and threads at once.

    Raises:
        ServerError: If it cannot be had; one line that says what to do.
    """
    deadline = time.monotonic() + timeout_s
    register(cluster, timeout_s=timeout_s)
    silent = 0
    while True:
        answer = _probe(cluster)
        if answer.state is wire.State.READY:
            attend(cluster)
            return
        if answer.state is wire.State.REFUSING:
            raise ServerError(f"the embedded PostgreSQL refuses connections: {answer.message}")
        with _guard:
            if locks.is_free(cluster.keeper_lock):
                silent += not _start_keeper(cluster, deadline)
                if silent < MAX_SILENT:
                    continue
                raise ServerError(
                    f"the keeper of the embedded PostgreSQL ends without a word; see "
                    f"{cluster.log_file}"
                )
        if time.monotonic() > deadline:
            raise ServerError(
                f"the embedded PostgreSQL did not come up in {timeout_s:.0f} s "
                f"({answer.message}); see {cluster.log_file}"
            )
        time.sleep(POLL_S)


def register(cluster: Cluster, *, timeout_s: float = START_TIMEOUT_S) -> None:
    """Count this process among the users of the database until it ends.

    Raises:
        ServerError: If the folders cannot be used or a stopping server does not end.
    """
    with _guard:
        held = _held.get(cluster.users_lock)
        if held is not None:
            if locks.is_current(held, cluster.users_lock):
                return
            os.close(_held.pop(cluster.users_lock))
        folders.prepare(cluster)
        try:
            lock = locks.acquire(
                cluster.users_lock, shared=True, uid=cluster.keeper.uid, wait_s=timeout_s
            )
        except OSError as error:
            raise folders.unusable(cluster.users_lock, error) from None
        if lock is None:
            raise ServerError(
                f"the embedded PostgreSQL is stopping and does not end; see {cluster.log_file}"
            )
        _held[cluster.users_lock] = lock


def forget(cluster: Cluster) -> None:
    """Count this process no longer among the users; open connections do not count."""
    with _guard:
        held = _held.pop(cluster.users_lock, None)
    if held is not None:
        os.close(held)


def attend(cluster: Cluster) -> None:
    """Start a keeper for a running server that has lost its own."""
    if locks.is_free(cluster.keeper_lock):
        _start_keeper(cluster, deadline=None)


def _probe(cluster: Cluster) -> wire.Answer:
    if pidfile.says_unready(cluster):
        return wire.Answer(wire.State.STARTING, "it is starting or stopping")
    return wire.probe(cluster.socket_file)


def _start_keeper(cluster: Cluster, deadline: float | None) -> str:
    """Start a keeper and, given a deadline, wait for what it reports and return that.

    Raises:
        ServerError: What the keeper reports if the server does not start.
    """
    folders.prepare(cluster)
    here = os.path.dirname(os.path.abspath(__file__))
    entry = os.path.join(here, "__main__.py")
    words = [sys.executable, "-I", "-S", entry, cluster.to_json(), binaries.find()]
    environment = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
    environment |= {key: os.environ[key] for key in KEPT_VARIABLES if key in os.environ}
    try:
        log = locks.open_log(cluster.log_file, cluster.keeper.uid)
    except OSError as error:
        raise folders.unusable(cluster.log_file, error) from None
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
        line = _line(pipe.fileno(), deadline) if deadline is not None else ""
    if line.startswith(keeper.FAILED):
        raise ServerError(line.removeprefix(keeper.FAILED))
    return line


def _line(descriptor: int, deadline: float) -> str:
    """Read to the end of the line, or of the pipe, or of the time."""
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
