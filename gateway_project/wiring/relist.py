"""Lists servers that report changes, and discovers those that are new, changed or due for a retry.

Every process with upstream connections does this; an advisory lock makes sure that only one
discovers a server at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import django.db
import psycopg
import structlog
from django.core.exceptions import ObjectDoesNotExist

from gateway_project.foundation.advisory import AdvisoryLocks
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.wiring.follow import AnnouncedTools, CurrentSnapshot
from tools import discover, embed_catalogue
from tools.definition import Definition
from tools.discover import DiscoveryResult
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.store import catalogue, discoveries
from tools.upstream.errors import UpstreamError
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
        announced: What calls wait for, and is listed here.
    """

    def __init__(
        self,
        pool: UpstreamPool,
        embedder: CachedEmbedder,
        *,
        approve_new: bool,
        announced: AnnouncedTools | None = None,
    ) -> None:
        self._announced = announced or AnnouncedTools()
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
        finish = self._announced.begin_listing(server)
        (outcome,) = await discover.discover_servers(
            self._pool, [server], approve_new=self._approve_new
        )
        seen = outcome.recorded
        finish(bool(seen and (seen.added or seen.changed or seen.restored or seen.removed)))
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


RECHECK_INTERVAL_S: Final = 5.0
"""Wait before checking again while another process discovers, or the database is unavailable."""
INTERNAL_ERROR_CODE: Final = "internal_error"
"""Code of an attempt that ended by a defect of the gateway; the log has the traceback."""
BLOCKED_STATES: Final = frozenset({"backoff", "open"})
"""States in which the pool does not contact a server."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ServerDiscoverer:
    """Keeps the catalogue complete while the registered servers change.

    Args:
        current: The current snapshot, with its change events.
        pool: Open connections.
        list_server: Lists a server, stores its tools and makes them searchable.
        now: Clock.
    """

    def __init__(
        self,
        current: CurrentSnapshot,
        pool: UpstreamPool,
        *,
        list_server: Callable[[str], Awaitable[DiscoveryResult]],
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._current = current
        self._pool = pool
        self._list_server = list_server
        self._now = now
        self._locks = AdvisoryLocks()
        self._running: set[str] = set()

    async def run(self) -> None:
        """Discover due servers, now and after every change, until cancelled."""
        try:
            async with TaskGroup() as group:
                while True:
                    self._current.discovery_wanted.clear()
                    wait_s = await self._start_due_discoveries(group)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(wait_s):
                            await self._current.discovery_wanted.wait()
        finally:
            await self._locks.aclose()

    async def _start_due_discoveries(self, group: TaskGroup) -> float | None:
        """Start due discoveries; return seconds until the next check, None: on notification."""
        try:
            states = await run_in_database_thread(discoveries.load_states)
        except django.db.Error as error:
            log.warning("discovery.database_unavailable", error=summarize_error(error))
            return RECHECK_INTERVAL_S
        now, waits = self._now(), []
        for server, state in states.items():
            due_at = state.due_at(now)
            if due_at is None or server in self._running:
                continue
            if due_at > now:
                waits.append((due_at - now).total_seconds())
            elif self._current.snapshot.versions.get(server) != state.version:
                # The pool has other settings for it, or does not have it
                self._current.database_changed.set()
            else:
                self._running.add(server)
                group.create_task(self._discover_exclusively(server), name=f"discover {server}")
        if self._running:
            waits.append(RECHECK_INTERVAL_S)
        return min(waits, default=None)

    async def _discover_exclusively(self, server: str) -> None:
        """Discover a server unless another process is doing so."""
        lock = discoveries.lock_name(server)
        try:
            if not await self._locks.acquire(lock):
                return
            try:
                await self._discover_if_due(server)
            finally:
                await self._locks.release(lock)
        except (django.db.Error, psycopg.Error) as error:
            log.warning(
                "discovery.database_unavailable", server=server, error=summarize_error(error)
            )
        except Exception:
            # Top of a task: one server's listing must not end the gateway.
            log.exception("discovery.crashed", server=server)
        finally:
            self._running.discard(server)

    async def _discover_if_due(self, server: str) -> None:
        states = await run_in_database_thread(discoveries.load_states, [server])
        version = self._current.snapshot.versions.get(server)
        due_at = states[server].due_at(self._now()) if server in states else None
        if version is None or due_at is None or due_at > self._now():
            return  # another process was quicker, or the server is gone
        attempt = await run_in_database_thread(
            discoveries.begin_attempt, server, version=version, at=self._now()
        )
        if attempt is None:
            return
        error_code = INTERNAL_ERROR_CODE
        try:
            error_code = (await self._list_ignoring_backoff(server)).error_code
        except (django.db.Error, psycopg.Error, asyncio.CancelledError):
            with suppress(django.db.Error):  # it stays due in any case
                await run_in_database_thread(discoveries.abandon_attempt, attempt)
            attempt = None
            raise
        finally:
            if attempt is not None:
                await run_in_database_thread(
                    discoveries.finish_attempt, attempt, error_code=error_code, at=self._now()
                )
                if error_code:
                    # So that callers learn why its tools are not known
                    self._current.database_changed.set()

    async def _list_ignoring_backoff(self, server: str) -> DiscoveryResult:
        """List a server even in backoff; stop it afterwards if only this has used it."""
        state = self._pool.get_status(server).state
        if state in BLOCKED_STATES:
            self._pool.reset(server)  # only forgets its failures: the listing starts it
        try:
            return await self._list_server(server)
        finally:
            if state != "ready":
                with suppress(UpstreamError):  # removed meanwhile
                    self._pool.stop_if_unused(server)
