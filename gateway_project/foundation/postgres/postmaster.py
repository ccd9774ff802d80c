"""Start, adopt, watch and stop the server's first process; part of the keeper."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator

from gateway_project.foundation.postgres import (
    configuration,
    initialise,
    leftovers,
    locks,
    pidfile,
    wire,
)
from gateway_project.foundation.postgres.cluster import NAME, Cluster, ServerError
from gateway_project.foundation.postgres.folders import unusable

READY = wire.State.READY
ANSWER_TIMEOUT_S = 60.0
POLL_S = 0.01
FAST_STOP_S = 30.0
IMMEDIATE_STOP_S = 5.0
KEPT_LOG_BYTES = 64 * 1024
"""How much of the log's end is read to explain a failed start."""


class Postmaster:
    """A running server, started by this process or found running."""

    def __init__(self, cluster: Cluster, pid: int, child: subprocess.Popen[bytes] | None) -> None:
        self.cluster = cluster
        self.pid = pid
        self._child = child

    def is_alive(self) -> bool:
        """Whether the process runs; a zombie does not."""
        if self._child is not None:
            return self._child.poll() is None
        return locks.record_is_held(self.cluster.postmaster_lock)

    def is_ours(self) -> bool:
        """Whether the process is a child of this one, whose death is signalled."""
        return self._child is not None

    def stop(self, *, immediately: bool = False) -> None:
        """End the server: cleanly, or at once if that takes too long or the data is gone."""
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
        return any(not self.is_alive() for _ in _ticks(timeout_s))


def ensure(cluster: Cluster, programs: str) -> Postmaster:
    """Return the running server, or start one once nothing of its predecessor is left.

    The caller holds the keeper's lock, so no one else starts or stops it.

    Raises:
        ServerError: If it does not come up.
    """
    try:
        if found := _adopt(cluster):
            return found
        leftovers.clear(cluster)
        if not os.path.isdir(cluster.data):
            initialise.create(cluster, programs)
        initialise.check_version(cluster)
        configuration.configure(cluster)
        return _start(cluster, programs)
    except OSError as error:
        raise unusable(error.filename or cluster.base, error) from None


def rotate_log(cluster: Cluster) -> None:
    """Move the log aside once it is large; the server goes on writing to the same file."""
    path = cluster.log_file
    try:
        if os.path.getsize(path) > cluster.log_bytes:
            try:
                shutil.copyfile(path, f"{path}.1")
            finally:
                os.truncate(path, 0)
    except OSError:
        return


def _adopt(cluster: Cluster) -> Postmaster | None:
    """Take over a server whose keeper was killed, or return None if there is none."""
    for _ in _ticks(ANSWER_TIMEOUT_S):
        if not locks.record_is_held(cluster.postmaster_lock):
            return None
        pid = pidfile.pid(cluster)
        if pid and wire.probe(cluster.socket_file, database="postgres").state is READY:
            _ensure_database(cluster)
            return Postmaster(cluster, pid, None)
    raise ServerError(
        f"the embedded PostgreSQL (process {pid}) does not answer: end it (`kill -QUIT {pid}`) "
        "and start again"
    )


def _start(cluster: Cluster, programs: str) -> Postmaster:
    log = locks.open_log(cluster.log_file, cluster.keeper.uid)
    began_at = os.fstat(log).st_size
    family = locks.acquire(cluster.server_lock)
    single = locks.open_record(cluster.postmaster_lock)
    if family is None:
        raise ServerError(f"processes of another PostgreSQL still use {cluster.data}")
    try:
        child = subprocess.Popen(
            configuration.command(cluster, programs),
            cwd="/",
            env=initialise.ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(family, single),
            start_new_session=True,
            preexec_fn=lambda: locks.hold_record(single),  # safe: the keeper has one thread
            **initialise.as_account(cluster.server),  # type: ignore[call-overload]
        )
    except subprocess.SubprocessError as error:
        raise ServerError(f"the embedded PostgreSQL does not start: {error}") from None
    finally:
        for descriptor in (log, family, single):
            os.close(descriptor)
    server = Postmaster(cluster, child.pid, child)
    try:
        _await_service(server, began_at)
        _ensure_database(cluster)
    except BaseException:
        server.stop()
        raise
    return server


def _await_service(server: Postmaster, began_at: int) -> None:
    """Wait until the server serves; one that replays its log may take as long as it needs."""
    cluster = server.cluster
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while True:
        if not server.is_alive():
            raise ServerError(initialise.explain_log(_log_since(cluster, began_at), cluster))
        if pidfile.says_unready(cluster):
            time.sleep(POLL_S)
            continue
        answer = wire.probe(cluster.socket_file, database="postgres")
        if answer.state is READY:
            return
        if answer.state is wire.State.REFUSING:
            raise ServerError(f"the embedded PostgreSQL refuses its keeper: {answer.message}")
        if answer.state is wire.State.ABSENT and time.monotonic() > deadline:
            raise ServerError(f"the embedded PostgreSQL does not answer; see {cluster.log_file}")
        time.sleep(POLL_S)


def _ensure_database(cluster: Cluster) -> None:
    """Create what a first start has to; each part may be there already."""
    try:
        with wire.Session(cluster.socket_file, database="template1") as session:
            session.execute("CREATE EXTENSION IF NOT EXISTS vector")
        with wire.Session(cluster.socket_file, database="postgres") as session:
            found = session.execute(f"SELECT FROM pg_database WHERE datname = '{NAME}'")
            if found == "SELECT 0":
                session.execute(f"CREATE DATABASE {NAME}")
    except wire.Refusal as error:
        raise ServerError(initialise.explain_log(f"FATAL: {error}", cluster)) from None


def _log_since(cluster: Cluster, offset: int) -> str:
    with open(cluster.log_file, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(min(offset, size), size - KEPT_LOG_BYTES))
        return file.read().decode(errors="replace")


def _ticks(timeout_s: float) -> Iterator[None]:
    """Yield at once and then every few milliseconds until the time is over."""
    deadline = time.monotonic() + timeout_s
    yield
    while time.monotonic() < deadline:
        time.sleep(POLL_S)
        yield
