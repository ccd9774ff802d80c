"""Starts, adopts, watches and stops the server's first process; part of the keeper."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator

from gateway_project.foundation.postgres import (
    binaries,
    configuration,
    initialise,
    leftovers,
    locks,
    pidfile,
)
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from gateway_project.foundation.postgres.folders import explain_unusable

PIDFILE_TIMEOUT_S = 60.0
"""Time for a server to write its pid file, which it does first of all."""
POLL_S = 0.01
FAST_STOP_S = 30.0
IMMEDIATE_STOP_S = 5.0
MAX_LOG_TAIL_BYTES = 64 * 1024
"""Bytes at the end of the log that are read to explain a failed start."""


class Postmaster:
    """A running server, started or adopted by this process."""

    def __init__(self, cluster: Cluster, pid: int, child: subprocess.Popen[bytes] | None) -> None:
        self.cluster = cluster
        self.pid = pid
        self._child = child

    def is_alive(self) -> bool:
        """Whether the process runs; a zombie does not."""
        if self._child is not None:
            return self._child.poll() is None
        return locks.is_record_held(self.cluster.postmaster_lock)

    def is_child(self) -> bool:
        """Whether the process is a child of this one, so that its death raises a signal."""
        return self._child is not None

    def stop(self, *, immediately: bool = False) -> None:
        """Stop the server: cleanly, or immediately if that takes too long or the data is gone."""
        if not immediately and self._signal_and_wait(signal.SIGINT, FAST_STOP_S):
            return
        if not self._signal_and_wait(signal.SIGQUIT, IMMEDIATE_STOP_S):
            self._signal_and_wait(signal.SIGKILL, IMMEDIATE_STOP_S)

    def _signal_and_wait(self, number: signal.Signals, timeout_s: float) -> bool:
        if self.is_alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return True
        return any(not self.is_alive() for _ in _poll_until(timeout_s))


def ensure_server(cluster: Cluster, programs: str) -> Postmaster:
    """Return the running server, or start one after clearing what its predecessor left.

    The caller holds the keeper's lock, so no one else starts or stops it.

    Raises:
        ServerError: If it does not come up.
    """
    try:
        _take_upgraded(cluster)
        if found := adopt_server(cluster):
            return found
        leftovers.clear_leftovers(cluster)
        if not os.path.isdir(cluster.data_folder):
            initialise.create_cluster(cluster, programs)
        initialise.check_version(cluster, programs)
        version = initialise.read_version(cluster)
        configuration.write_configuration(cluster, version or binaries.MAJOR)
        return _start_server(cluster, programs)
    except OSError as error:
        raise explain_unusable(error.filename or cluster.base, error) from None


def rotate_log(cluster: Cluster) -> None:
    """Copy the log aside and truncate it once it is large; the server keeps its open file."""
    path = cluster.log_file
    try:
        if os.path.getsize(path) > cluster.log_bytes:
            try:
                shutil.copyfile(path, f"{path}.1")
            finally:
                os.truncate(path, 0)
    except OSError:
        return


def _take_upgraded(cluster: Cluster) -> None:
    """End a move to another major version that was killed between its last two steps."""
    if not os.path.isdir(cluster.data_folder) and os.path.isdir(cluster.upgraded_folder):
        os.rename(cluster.upgraded_folder, cluster.data_folder)


def adopt_server(cluster: Cluster) -> Postmaster | None:
    """Adopt a server whose keeper was killed, ready or not; return None if there is none."""
    for _ in _poll_until(PIDFILE_TIMEOUT_S):
        if not locks.is_record_held(cluster.postmaster_lock):
            return None
        if pid := pidfile.read_pid(cluster):
            return Postmaster(cluster, pid, None)
    raise ServerError(
        f"a PostgreSQL holds {cluster.postmaster_lock} and does not say its process id: end it "
        "and start again"
    )


def _start_server(cluster: Cluster, programs: str) -> Postmaster:
    log = locks.open_log(cluster.log_file, cluster.keeper.uid)
    log_start = os.fstat(log).st_size
    server_lock = locks.acquire(cluster.server_lock)
    record_lock = locks.open_record_lock(cluster.postmaster_lock)
    if server_lock is None:
        raise ServerError(f"processes of another PostgreSQL still use {cluster.data_folder}")
    try:
        child = subprocess.Popen(
            configuration.build_command(cluster, programs),
            cwd="/",
            env=initialise.ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(server_lock, record_lock),
            start_new_session=True,
            # Safe, since the keeper has one thread.
            preexec_fn=lambda: locks.take_record_lock(record_lock),
            **initialise.account_arguments(cluster.server),  # type: ignore[call-overload]
        )
    except subprocess.SubprocessError as error:
        raise ServerError(f"the embedded PostgreSQL does not start: {error}") from None
    finally:
        for descriptor in (log, server_lock, record_lock):
            os.close(descriptor)
    server = Postmaster(cluster, child.pid, child)
    try:
        _wait_until_ready(server, log_start)
    except BaseException:
        server.stop()
        raise
    return server


def _wait_until_ready(server: Postmaster, log_start: int) -> None:
    """Wait until the server is ready; one that replays its WAL may take any time."""
    cluster = server.cluster
    deadline = time.monotonic() + PIDFILE_TIMEOUT_S
    while not pidfile.is_ready(cluster, server.pid):
        if not server.is_alive():
            raise ServerError(initialise.explain_log(_read_log_since(cluster, log_start), cluster))
        if time.monotonic() > deadline and not pidfile.is_starting(cluster):
            raise ServerError(f"the embedded PostgreSQL does not start; see {cluster.log_file}")
        time.sleep(POLL_S)


def _read_log_since(cluster: Cluster, offset: int) -> str:
    with open(cluster.log_file, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(min(offset, size), size - MAX_LOG_TAIL_BYTES))
        return file.read().decode(errors="replace")


def _poll_until(timeout_s: float) -> Iterator[None]:
    """Yield at once and then every few milliseconds until the timeout expires."""
    deadline = time.monotonic() + timeout_s
    yield
    while time.monotonic() < deadline:
        time.sleep(POLL_S)
        yield
