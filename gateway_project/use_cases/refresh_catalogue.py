"""List the tools of servers, store them and make them searchable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import django.db

from gateway_project import server_instructions
from gateway_project.foundation.advisory import AdvisoryLocks
from gateway_project.foundation.config import Config
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.use_cases.discover_servers import open_servers
from graph import refresh
from tools import discover as discovery
from tools.discover import DiscoveryResult
from tools.store import catalogue, discoveries, postings
from tools.upstream.pool import UpstreamPool
from tools.upstream.uninterrupted import run_uninterrupted

LOCK_POLL_INTERVAL_S: Final = 0.25
MAX_LOCK_POLLS: Final = 720
"""Three minutes, longer than any attempt of a live process."""


@dataclass(frozen=True, kw_only=True)
class CatalogueRefresh:
    """Outcome of a refresh.

    Attributes:
        servers: One entry per server.
        unknown: Requested names that are not registered or not enabled.
    """

    servers: tuple[DiscoveryResult, ...]
    unknown: tuple[str, ...] = ()


async def refresh_catalogue(
    config: Config,
    *,
    names: Sequence[str] | None = None,
    on_done: Callable[[DiscoveryResult], None] = lambda _: None,
) -> CatalogueRefresh:
    """Start the servers, list their tools in parallel, store, index and relate them.

    A server that another process is discovering is listed afterwards, so that it is never started
    twice.

    Args:
        config: Timeouts, and whether new tools are approved automatically.
        names: Servers to list; None: every enabled one.
        on_done: Called with each server's result.

    Raises:
        UnsealingFailed: If a server's environment cannot be opened.
    """
    versions = await run_in_database_thread(discoveries.load_server_versions)
    async with open_servers(config, names) as (pool, known):
        found = await _discover_all(
            pool,
            {name: versions.get(name) for name in known},
            approve_new=config.approve_new == "auto",
            on_done=on_done,
        )
    await run_in_database_thread(lambda: postings.index_tools(postings.find_stale_tools()))
    await run_in_database_thread(refresh.refresh_graph, now=datetime.now(UTC))
    shared = await run_in_database_thread(catalogue.load_shared_instructions)
    server_instructions.keep_instructions(config.home, shared)
    return CatalogueRefresh(
        servers=found, unknown=tuple(name for name in names or () if name not in known)
    )


async def _discover_all(
    pool: UpstreamPool,
    versions: Mapping[str, datetime | None],
    *,
    approve_new: bool,
    on_done: Callable[[DiscoveryResult], None],
) -> tuple[DiscoveryResult, ...]:
    """Discover servers in parallel, each under its lock; return one entry per server, by name."""
    locks = AdvisoryLocks()

    async def discover_exclusively(name: str, version: datetime | None) -> DiscoveryResult:
        lock = discoveries.lock_name(name)
        await _wait_for_lock(locks, lock)
        try:
            async with _record_attempt(name, version) as outcomes:
                outcomes += await discovery.discover_servers(
                    pool, [name], approve_new=approve_new, on_done=on_done
                )
        finally:
            await locks.release(lock)
        return outcomes[0]

    try:
        async with TaskGroup() as group:
            tasks = [
                group.create_task(discover_exclusively(*item)) for item in sorted(versions.items())
            ]
    finally:
        await locks.aclose()
    return tuple(task.result() for task in tasks)


async def _wait_for_lock(locks: AdvisoryLocks, lock: str) -> None:
    """Wait for the lock of a server; a process that hangs with it is ignored after a while."""
    for _ in range(MAX_LOCK_POLLS):
        if await locks.acquire(lock):
            return
        await asyncio.sleep(LOCK_POLL_INTERVAL_S)


@asynccontextmanager
async def _record_attempt(
    name: str, version: datetime | None
) -> AsyncIterator[list[DiscoveryResult]]:
    """Record a discovery's begin and end; the block appends its outcome to the yielded list."""
    outcomes: list[DiscoveryResult] = []
    if version is None:
        yield outcomes
        return
    # Cancelling the caller does not stop the query: what it wrote is known once it has ended.
    beginning = asyncio.create_task(
        run_in_database_thread(
            discoveries.begin_attempt, name, version=version, at=datetime.now(UTC)
        )
    )
    try:
        attempt = await asyncio.shield(beginning)
        yield outcomes
    except BaseException:
        await run_uninterrupted(_abandon_attempt(beginning))
        raise
    if attempt is not None:
        code = outcomes[0].error_code
        await run_in_database_thread(
            discoveries.finish_attempt, attempt, error_code=code, at=datetime.now(UTC)
        )


async def _abandon_attempt(
    beginning: asyncio.Task[discoveries.DiscoveryAttempt | None],
) -> None:
    with suppress(django.db.Error):  # it stays due in any case
        attempt = await beginning
        if attempt is not None:
            await run_in_database_thread(discoveries.abandon_attempt, attempt)
