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

from gateway_project.foundation.database import (
    WRITE_OBSTACLE_SQL,
    describe_write_obstacle,
    run_in_database_thread,
)
from gateway_project.foundation.reasons import summarize_error

CATALOGUE = "foregate_catalogue"
"""Channel of the triggers on servers, tools, categories and dangerous operations."""

SEARCH = "foregate_search"
"""Channel of the triggers on vectors and indexed words."""

GRAPH = "foregate_graph"
"""Channel of the triggers on relations, with their primary keys, and of computed metrics."""

RUNS = "foregate_runs"
"""Channel of runs: the id of a run whenever an event or a command of it was stored, or an approval
of one of its calls was decided."""

RUN_WORK = "foregate_run_work"
"""Channel of work on runs: the id of a run that was queued, received a command, or no longer waits
for an approval. Separate from `RUNS`, so that frequent events do not wake every worker."""

THRESHOLDS = "foregate_thresholds"
"""Channel of changed thresholds of speculation."""

SPECULATION = "foregate_speculation"
"""Channel of the switch of speculation, of its budgets and of compared results."""

DELIVERIES = "foregate_deliveries"
"""Channel of events to deliver to webhooks."""

PREDICTIONS = "foregate_predictions"
"""Channel of predicted workflows: the ids of those that were recorded or resolved, separated by
commas. For viewers only; no process acts on it."""

SERVER_STATUS = "foregate_server_status"
"""Channel of servers whose recorded condition changed: their name. For viewers only; unlike
`CATALOGUE`, no process reloads anything."""

REPLACED = "foregate_replaced"
"""Channel of changes that are not told one by one: a restored backup, and applied migrations.
Every listener hears it and reloads everything."""

FIRST_RETRY_S = 0.2
MAX_RETRY_S = 5.0
PROBE_INTERVAL_S = 2.0
PROBE_TIMEOUT_S = 2.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Notification:
    """A notification; the payload contains names or ids only."""

    channel: str
    payload: str


def send_notification(channel: str, payload: str) -> None:
    """Notify listeners when the current transaction commits.

    Args:
        channel: Such as `CATALOGUE`.
        payload: Names or ids; at most 8,000 bytes (a limit of PostgreSQL).
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [channel, payload])


class NotificationListener:
    """Listens to channels while `run` runs, and watches the database's health on the way.

    A notification sent while the connection was down is lost, so every (re)connection is
    followed by `on_resync`, which must reload everything that notifications would have changed.
    So is a notification of `REPLACED`.

    Args:
        channels: To listen to.
        on_event: Called with each notification.
        on_resync: Called after each connection.
        on_probe: Called after each probe with the reason why the database takes no writes; empty
            if it does.
    """

    def __init__(
        self,
        channels: tuple[str, ...],
        *,
        on_event: Callable[[Notification], Awaitable[None]],
        on_resync: Callable[[], Awaitable[None]],
        on_probe: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._channels = (*channels, REPLACED)
        self._on_event = on_event
        self._on_resync = on_resync
        self._on_probe = on_probe
        self._retry_s = FIRST_RETRY_S
        self._obstacle = ""

    async def run(self) -> None:
        """Listen until cancelled, reconnecting with backoff and jitter."""
        while True:
            try:
                await self._listen_once()
            except (psycopg.Error, DatabaseError, OSError) as error:
                self._report_probe(summarize_error(error))
            await asyncio.sleep(self._retry_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
            self._retry_s = min(self._retry_s * 2, MAX_RETRY_S)

    def _report_probe(self, obstacle: str) -> None:
        """Report whether the database takes writes; only changes are logged."""
        if obstacle and not self._obstacle:
            log.warning("database.unavailable", reason=obstacle)
        elif self._obstacle and not obstacle:
            log.info("database.available")
        self._obstacle = obstacle
        self._on_probe(obstacle)

    async def _listen_once(self) -> None:
        """Listen until the connection breaks."""
        parameters = await run_in_database_thread(get_connection_parameters)
        async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as conn:
            for channel in self._channels:
                await conn.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            await self._on_resync()
            self._retry_s = FIRST_RETRY_S
            while True:
                await self._probe(conn)
                async for notice in conn.notifies(timeout=PROBE_INTERVAL_S):
                    if notice.channel == REPLACED:
                        await self._on_resync()
                        continue
                    await self._on_event(
                        Notification(channel=notice.channel, payload=notice.payload)
                    )

    async def _probe(self, conn: psycopg.AsyncConnection[Any]) -> None:
        """Ask whether the database takes writes; a peer that is dead or frozen is noticed.

        Raises:
            TimeoutError: If it does not answer in time.
        """
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                cursor = await conn.execute(WRITE_OBSTACLE_SQL)
                row = await cursor.fetchone()
        except TimeoutError:
            raise TimeoutError(
                f"the database has not answered for {PROBE_TIMEOUT_S:g} s"
            ) from None
        self._report_probe(describe_write_obstacle(*(row or (False, None))))


def get_connection_parameters() -> Mapping[str, Any]:
    """Return Django's connection parameters, after making sure that the database answers."""
    connection.ensure_connection()
    parameters = dict(connection.get_connection_params())
    for key in ("cursor_factory", "context", "prepare_threshold"):
        parameters.pop(key, None)
    return parameters
