"""Lists servers again that say their tools changed, each by itself."""

from __future__ import annotations

import asyncio

import django.db
import structlog

from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from tools import discover, embed_catalogue
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.upstream.pool import UpstreamPool

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0

log = structlog.get_logger(__name__)


class Relister:
    """Takes over what servers list; the rule of pinning decides what becomes of it.

    A server that is slow to answer holds up no other. One that changes again while it is listed is
    listed once more, and one that was listed while the database was away is listed again later.

    Args:
        pool: Open connections.
        embedder: Embeds what is new.
        approve_new: Whether tools seen for the first time may be used at once.
    """

    def __init__(self, pool: UpstreamPool, embedder: CachedEmbedder, *, approve_new: bool) -> None:
        self._pool = pool
        self._embedder = embedder
        self._approve_new = approve_new
        self._embedding = asyncio.Lock()
        self._wanted: dict[str, bool] = {}

    async def run(self, changed: asyncio.Queue[str]) -> None:
        """List the servers that are named, until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                server = await changed.get()
                if server in self._wanted:
                    self._wanted[server] = True
                    continue
                self._wanted[server] = False
                group.create_task(self._follow(server), name=f"relist {server}")

    async def _follow(self, server: str) -> None:
        """List a server until it is as it says."""
        retry_s = FIRST_RETRY_S
        try:
            while True:
                self._wanted[server] = False
                if not await self._list(server):
                    await asyncio.sleep(retry_s)
                    retry_s = min(2 * retry_s, LONGEST_RETRY_S)
                elif not self._wanted[server]:
                    return
        except Exception:
            # The top of a task: what one server lists may not end the gateway for all.
            log.exception("gateway.relisting_broke_down", server=server)
        finally:
            del self._wanted[server]

    async def _list(self, server: str) -> bool:
        """List a server once; say whether what it lists is in the database now."""
        try:
            await discover.discover(self._pool, [server], approve_new=self._approve_new)
        except ExceptionGroup as errors:
            unreachable, unforeseen = errors.split(django.db.Error)
            if unreachable is None or unforeseen is not None:
                raise
            _complain(server, unreachable.exceptions[0])
            return False
        try:
            async with self._embedding:
                await in_database(embed_catalogue.embed_missing, self._embedder)
        except (django.db.Error, EmbeddingUnavailable) as error:  # words find it meanwhile
            _complain(server, error)
        return True


def _complain(server: str, error: Exception) -> None:
    log.warning("gateway.relisting_failed", server=server, error=first_line(error))
