"""Connections that start the embedded database, outlive its restarts, and fail in plain words."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any

import psycopg
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from django.utils.asyncio import async_unsafe

from gateway_project.foundation.postgres import failures, supervise
from gateway_project.foundation.postgres.address import EMBEDDED
from gateway_project.foundation.postgres.cluster import Cluster, ServerError
from gateway_project.foundation.postgres.failures import DatabaseUnavailable

if TYPE_CHECKING:
    from psycopg import Connection

READABLE = select.POLLIN | select.POLLHUP | select.POLLERR

ATTEMPTS = 3
"""A server may die again between being found alive and being connected to."""

SUITABLE_SQL = """
    SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
           (SELECT default_version FROM pg_available_extensions WHERE name = 'vector')
"""

_found_suitable: set[tuple[str, str, str]] = set()


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper of a PostgreSQL connection, for Foregate's two kinds of server.

    Of the entry in DATABASES it reads one key more than Django: `EMBEDDED`, the cluster to have
    running; without it the server is external.
    """

    @async_unsafe
    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection[Any]:
        """Connect, after starting the embedded database where that is needed.

        Raises:
            DatabaseUnavailable: If there is no usable database; one line that says what to do.
        """
        cluster: Cluster | None = self.settings_dict.get(EMBEDDED)
        if cluster is not None:
            return self._connect_embedded(cluster, conn_params)
        try:
            connection: Connection[Any] = super().get_new_connection(conn_params)
        except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
            raise DatabaseUnavailable(failures.explain(error, conn_params)) from error
        self._require_suitable(connection)
        return connection

    @async_unsafe
    def ensure_connection(self) -> None:
        """Connect if there is no connection, or if the server has closed it meanwhile.

        Between transactions nothing is lost with a connection, so a restart of the server goes
        unnoticed there; inside one, the error stands.
        """
        if self.connection is not None and not self.in_atomic_block and self._is_severed():
            self.close()
        super().ensure_connection()

    def _connect_embedded(self, cluster: Cluster, conn_params: dict[str, Any]) -> Connection[Any]:
        try:
            supervise.register(cluster)
            for _ in range(ATTEMPTS):
                try:
                    connection: Connection[Any] = super().get_new_connection(conn_params)
                except psycopg.OperationalError as error:
                    failure = error
                    supervise.ensure_running(cluster)
                else:
                    supervise.attend(cluster)
                    return connection
        except ServerError as error:
            raise DatabaseUnavailable(str(error)) from error
        raise DatabaseUnavailable(failures.explain(failure, conn_params)) from failure

    def _is_severed(self) -> bool:
        """Whether the server has closed the connection; costs no round trip while it has not.

        An idle connection has nothing to read. If it has, it is the server's farewell or a
        notice, and a query tells which.
        """
        if self.connection.closed:
            return True
        poll = select.poll()
        poll.register(self.connection.fileno(), READABLE)
        return bool(poll.poll(0)) and not self.is_usable()

    def _require_suitable(self, connection: Connection[Any]) -> None:
        """Check an external server once in each process.

        Raises:
            DatabaseUnavailable: If it cannot hold Foregate's data.
        """
        info = connection.info
        key = (info.host, str(info.port), info.dbname)
        if self.alias == NO_DB_ALIAS or key in _found_suitable:
            return
        with connection.cursor() as cursor:
            installed, available = cursor.execute(SUITABLE_SQL).fetchone() or (None, None)
        connection.rollback()
        if reason := failures.unsuitable(info.server_version, installed, available):
            connection.close()
            raise DatabaseUnavailable(reason)
        _found_suitable.add(key)
