"""Lists servers again when they report changes, and makes their tools searchable."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import django.db
import structlog
from django.core.exceptions import ObjectDoesNotExist

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup
from tools import discover, embed_catalogue
from tools.definition import Definition
from tools.discover import DiscoveryResult
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.store import catalogue
from tools.upstream.pool import UpstreamPool

RECORD_TIMEOUT_S = 5.0
"""Longest that a refused call waits for the database."""
FIRST_RETRY_S = 1.0
MAX_RETRY_S = 60.0

log = structlog.get_logger(__name__)


class ServerRelister:
    """Stores what servers list; the pinning rule decides the state of each tool.

    A slow server does not delay others. A server that changes again while it is listed is listed
    once more, and one that was listed while the database was unavailable is listed again later.

    Args:
        pool: Open connections.
        embedder: Embeds new texts.
        approve_new: Whether tools seen for the first time are approved automatically.
    """

    def __init__(self, pool: UpstreamPool, embedder: CachedEmbedder, *, approve_new: bool) -> None:
        self._pool = pool
        self._embedder = embedder
        self._approve_new = approve_new
        self._embedding = asyncio.Lock()
        self._wanted: dict[str, bool] = {}

    async def run(self, changed: asyncio.Queue[str]) -> None:
        """List each server from the queue, until cancelled."""
        async with TaskGroup() as group:
            while True:
                server = await changed.get()
                if server in self._wanted:
                    self._wanted[server] = True
                    continue
                self._wanted[server] = False
                group.create_task(self._relist_until_stable(server), name=f"relist {server}")

    async def _relist_until_stable(self, server: str) -> None:
        """List a server until it reports no further change."""
        retry_s = FIRST_RETRY_S
        try:
            while True:
                self._wanted[server] = False
                if not await self._try_list_server(server):
                    await asyncio.sleep(retry_s)
                    retry_s = min(2 * retry_s, MAX_RETRY_S)
                elif not self._wanted[server]:
                    return
        except Exception:
            # Top of a task: one server's listing must not end the gateway.
            log.exception("gateway.relisting_crashed", server=server)
        finally:
            del self._wanted[server]

    async def _try_list_server(self, server: str) -> bool:
        """List a server once; return whether its list was stored."""
        try:
            await self.list_server(server)
        except django.db.Error as error:
            _log_failure(server, error)
            return False
        return True

    async def list_server(self, server: str) -> DiscoveryResult:
        """List a server once, store its tools and make them searchable.

        Raises:
            django.db.Error: If the database is unavailable.
        """
        (outcome,) = await discover.discover_servers(
            self._pool, [server], approve_new=self._approve_new
        )
        if outcome.error:
            return outcome
        try:
            async with self._embedding:
                await run_in_database_thread(embed_catalogue.embed_missing, self._embedder)
        except (django.db.Error, EmbeddingUnavailable) as error:  # found by words meanwhile
            _log_failure(server, error)
        return outcome


async def record_changed_tool(server: str, definition: Definition, *, approve_new: bool) -> None:
    """Store a tool's changed definition, so that a person can approve it.

    The whole list follows when the server is listed again, if the gateway still runs then.
    """
    try:
        async with asyncio.timeout(RECORD_TIMEOUT_S):
            await run_in_database_thread(
                catalogue.record_listing,
                server,
                [definition],
                at=datetime.now(UTC),
                approve_new=approve_new,
                complete=False,
                instructions=None,
            )
    except (django.db.Error, ObjectDoesNotExist, TimeoutError) as error:
        _log_failure(server, error)


def _log_failure(server: str, error: Exception) -> None:
    log.warning("gateway.relisting_failed", server=server, error=summarize_error(error))
