"""LISTEN/NOTIFY between processes, with a resync after every gap."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
import structlog
from django.db import Error as DatabaseError
from django.db import connection
from psycopg import sql

from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line

CATALOGUE = "foregate_catalogue"
"""Channel of the triggers on servers, tools, categories and dangerous operations."""

SEARCH = "foregate_search"
"""Channel of the triggers on vectors and indexed words."""

GRAPH = "foregate_graph"
"""Channel of the triggers on relations, with their primary keys, and of computed metrics."""

RUNS = "foregate_runs"
"""Channel of runs: their ids, whenever something was written down of them, was told them, or was
decided about one of their calls."""

RUN_WORK = "foregate_run_work"
"""Channel of work on runs: the id of one that was queued, was told something, or waits no more
for a decision. Apart from `RUNS`, so that what writes a lot does not make everybody look."""

FIRST_RETRY_S = 0.2
LONGEST_RETRY_S = 5.0
KEEPALIVE_S = 30.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Event:
    """A notification: its channel and its payload, which carries names or ids only."""

    channel: str
    payload: str


def send(channel: str, payload: str) -> None:
    """Notify listeners when the current transaction commits.

    Args:
        channel: Such as `CATALOGUE`.
        payload: Names or ids; at most 8,000 bytes (a limit of PostgreSQL).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [channel, payload])


class Listener:
    """Follows channels for as long as its `run` does.

    A notification sent while the connection was down is lost, so every (re)connection is
    followed by `on_resync`, which must reload all that notifications would have changed.
    """

    def __init__(
        self,
        channels: tuple[str, ...],
        *,
        on_event: Callable[[Event], Awaitable[None]],
        on_resync: Callable[[], Awaitable[None]],
    ) -> None:
        self._channels = channels
        self._on_event = on_event
        self._on_resync = on_resync
        self._retry_s = FIRST_RETRY_S

    async def run(self) -> None:
        """Listen until cancelled, reconnecting with backoff and jitter."""
        while True:
            try:
                await self._listen_once()
            except (psycopg.Error, DatabaseError, OSError) as error:
                log.warning("notify.disconnected", error=first_line(error), retry_s=self._retry_s)
            await asyncio.sleep(self._retry_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
            self._retry_s = min(self._retry_s * 2, LONGEST_RETRY_S)

    async def _listen_once(self) -> None:
        """Listen until the connection breaks."""
        parameters = await in_database(connection_parameters)
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as conn:
            for channel in self._channels:
                await conn.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            await self._on_resync()
            self._retry_s = FIRST_RETRY_S
            while True:
                await self._drain(conn)

    async def _drain(self, conn: psycopg.AsyncConnection[Any]) -> None:
        """Hand on what arrives; a quiet connection is probed, so that a dead peer is noticed."""
        quiet = True
        async for notice in conn.notifies(timeout=KEEPALIVE_S):
            quiet = False
            await self._on_event(Event(channel=notice.channel, payload=notice.payload))
        if quiet:
            await conn.execute("SELECT 1")


def connection_parameters() -> Mapping[str, Any]:
    """Return what Django connects with, after making sure the database answers."""
    connection.ensure_connection()
    parameters = dict(connection.get_connection_params())
    for key in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(key, None)
    return parameters
