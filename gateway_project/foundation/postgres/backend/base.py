"""Connections that start the embedded database, survive restarts, and fail with clear errors."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from django.utils.asyncio import async_unsafe
from psycopg.conninfo import timeout_from_conninfo
from psycopg.pq import ExecStatus

from gateway_project.foundation.postgres import failures, patience, supervise
from gateway_project.foundation.postgres.address import EMBEDDED
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from gateway_project.foundation.postgres.failures import DatabaseUnavailable

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.pq.abc import PGconn

READABLE_EVENTS = select.POLLIN | select.POLLHUP | select.POLLERR

MAX_ATTEMPTS = 3
"""A server may die between the probe and the connection."""

MIN_CONNECT_TIMEOUT_S = 2
"""libpq takes one second for two."""

HEALTH_CHECK_TIMEOUT_S = 2.0
"""For an empty query at the start of a request that somebody waits for."""

SUITABILITY_SQL = """
    SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
           (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'),
           pg_backend_pid()
"""
BACKEND_SQL = "SELECT pg_backend_pid()"
POOLER_ATTEMPTS = 3
"""Other clients of a busy pooler may take the server connection that was just given back."""

_checked_servers: set[tuple[str, str, str]] = set()


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper of a PostgreSQL connection, for an embedded or an external server.

    It reads one additional key of the entry in DATABASES: `EMBEDDED`, the cluster to run; without
    it the server is external.
    """

    @async_unsafe
    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """Connect; start the embedded database first if necessary.

        Raises:
            DatabaseUnavailable: If there is no usable database; one line that says what to do.
        """
        cluster: Cluster | None = self.settings_dict.get(EMBEDDED)
        if cluster is not None:
            return self._connect_embedded(cluster, conn_params)
        try:
            connection = self._connect(conn_params)
        except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
            raise DatabaseUnavailable(failures.explain_failure(error, conn_params)) from error
        self._require_suitable(connection)
        return connection

    @async_unsafe
    def ensure_connection(self) -> None:
        """Connect if there is no connection, or if the server has closed it meanwhile.

        Between transactions a connection has no state to lose, so a restart of the server goes
        unnoticed; inside a transaction, the error is raised.
        """
        self._drop_closed_connection()
        super().ensure_connection()

    def close_if_unusable_or_obsolete(self) -> None:
        """Close the connection if it is of no further use; never open another one.

        Django's own version asks for the autocommit state, which reconnects where the server has
        closed the connection. During an outage, that would raise before work that does not need
        the database.
        """
        self._drop_closed_connection()
        super().close_if_unusable_or_obsolete()

    def is_usable(self) -> bool:
        """Whether the server answers; where somebody waits, only soon."""
        if not patience.is_limited():
            return super().is_usable()
        timeout_s = min(HEALTH_CHECK_TIMEOUT_S, patience.begin_wait(HEALTH_CHECK_TIMEOUT_S))
        try:
            is_usable = _answers_soon(self.connection.pgconn, timeout_s)
        except psycopg.Error:
            return False
        if is_usable:
            patience.end_wait()
        return is_usable

    def _drop_closed_connection(self) -> None:
        if (
            self.connection is not None
            and not self.in_atomic_block
            and self._is_closed_by_server()
        ):
            self.close()

    def _connect(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """Connect to a server; where somebody waits, give up in time."""
        if patience.is_limited():
            given_s = timeout_from_conninfo(conn_params)
            left_s = max(MIN_CONNECT_TIMEOUT_S, round(patience.begin_wait(given_s)))
            conn_params = conn_params | {"connect_timeout": min(given_s, left_s)}
        connection: Connection[Any] = super().get_new_connection(conn_params)
        patience.end_wait()
        return connection

    def _connect_embedded(self, cluster: Cluster, conn_params: dict[str, Any]) -> Connection[Any]:
        try:
            supervise.register_user(cluster)
            for _ in range(MAX_ATTEMPTS):
                try:
                    connection = self._connect(conn_params)
                except psycopg.OperationalError as error:
                    failure = error
                    supervise.ensure_running(cluster)
                else:
                    supervise.start_keeper(cluster)
                    return connection
        except ServerError as error:
            raise DatabaseUnavailable(str(error)) from error
        raise DatabaseUnavailable(failures.explain_failure(failure, conn_params)) from failure

    def _is_closed_by_server(self) -> bool:
        """Whether the server has closed the connection; usually without a round trip.

        An idle connection has no data to read. If it has, that is the end of the connection or a
        notice, and a query tells which.
        """
        if self.connection.closed:
            return True
        poll = select.poll()
        poll.register(self.connection.fileno(), READABLE_EVENTS)
        return bool(poll.poll(0)) and not self.is_usable()

    def _require_suitable(self, connection: Connection[Any]) -> None:
        """Check an external server once in each process.

        Raises:
            DatabaseUnavailable: If it cannot serve Foregate.
        """
        info = connection.info
        key = (info.host, str(info.port), info.dbname)
        if self.alias == NO_DB_ALIAS or key in _checked_servers:
            return
        installed, available, backend_pid = _fetch_row(connection, SUITABILITY_SQL)
        reason = failures.explain_unsuitable(info.server_version, installed, available)
        if info.backend_pid != backend_pid and self._is_pooled_by_transaction(connection):
            reason = failures.explain_pooler(self.get_connection_params())
        if reason:
            connection.close()
            raise DatabaseUnavailable(reason)
        _checked_servers.add(key)

    def _is_pooled_by_transaction(self, connection: Connection[Any]) -> bool:
        """Whether a pooler lends its connections to the server for one transaction each.

        Then a second client is lent the one that the first has just given back; in session mode,
        each client has its own.
        """
        with self._connect(self.get_connection_params()) as other:
            for _ in range(POOLER_ATTEMPTS):
                lent = _fetch_row(connection, BACKEND_SQL)
                # In session mode, a pool may have no second connection to lend.
                if not _answers_soon(other.pgconn, HEALTH_CHECK_TIMEOUT_S):
                    return False
                if _fetch_row(other, BACKEND_SQL) == lent:
                    return True
        return False


def _fetch_row(connection: Connection[Any], statement: LiteralString) -> tuple[Any, ...]:
    """Return the only row of a query, and end its transaction."""
    row: tuple[Any, ...] | None = connection.execute(statement).fetchone()
    connection.rollback()
    assert row is not None  # noqa: S101 - the queries here have one row
    return row


def _answers_soon(pgconn: PGconn, timeout_s: float) -> bool:
    """Whether a server answers an empty query in time, as one that is frozen does not.

    psycopg itself waits for an answer as long as the connection is open.

    Raises:
        psycopg.Error: If the connection is closed.
    """
    deadline = time.monotonic() + timeout_s
    poll = select.poll()
    poll.register(pgconn.socket, READABLE_EVENTS)
    pgconn.send_query(b"")
    pgconn.flush()
    while pgconn.is_busy():
        if not poll.poll(1000 * max(0.0, deadline - time.monotonic())):
            return False
        pgconn.consume_input()
    is_answered = False
    while result := pgconn.get_result():
        is_answered = result.status == ExecStatus.EMPTY_QUERY
    return is_answered
