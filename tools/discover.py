"""Discover servers: list their tools in parallel and store them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog
from django.core.exceptions import ObjectDoesNotExist
from django.db import DataError

from gateway_project.foundation import canonical
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup
from tools import item_store, pinned_content
from tools.definition import Definition, make_storable
from tools.store import catalogue, servers
from tools.store.catalogue import ListingChanges
from tools.upstream.errors import UpstreamError
from tools.upstream.kinds import name_capabilities

if TYPE_CHECKING:
    from tools.upstream.pool import UpstreamPool

MAX_NAME_LENGTH = 500
"""Far above any real name, and short enough for a PostgreSQL index in any script."""

NOT_STORABLE = "not_storable"
"""Error code of a listing that the database rejects."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class DiscoveryResult:
    """The outcome of one server's discovery.

    Attributes:
        server: Its name.
        tools: Number of stored tools.
        recorded: The changes; None if it failed.
        error: The error in one line; empty: none.
        error_code: Its stable code; empty: none.
        warnings: Tools that could not be stored, and why.
        duration_s: Duration of the discovery.
    """

    server: str
    tools: int = 0
    recorded: ListingChanges | None = None
    error: str = ""
    error_code: str = ""
    warnings: tuple[str, ...] = field(default=())
    duration_s: float = 0.0


def _now() -> datetime:
    return datetime.now(UTC)


async def discover_servers(
    pool: UpstreamPool,
    names: Iterable[str],
    *,
    approve_new: bool,
    on_done: Callable[[DiscoveryResult], None] = lambda _: None,
    now: Callable[[], datetime] = _now,
) -> tuple[DiscoveryResult, ...]:
    """Discover several servers in parallel; a failure of one does not affect the others.

    Args:
        pool: Open connections.
        names: Servers to discover.
        approve_new: Whether tools seen for the first time are approved automatically.
        on_done: Called with each server's result.
        now: Clock.

    Returns:
        One entry per server, by name.
    """
    results: list[DiscoveryResult] = []

    async def discover_server(name: str) -> None:
        result = await _discover_one(pool, name, approve_new=approve_new, now=now)
        results.append(result)
        on_done(result)

    async with TaskGroup() as group:
        for name in names:
            group.create_task(discover_server(name))
    return tuple(sorted(results, key=lambda result: result.server))


async def probe_servers(
    pool: UpstreamPool,
    names: Iterable[str],
    *,
    timeout_s: float,
    on_done: Callable[[], None] = lambda: None,
) -> dict[str, int | str]:
    """List the tools of several servers in parallel without storing anything.

    Args:
        pool: Open connections.
        names: Servers to list; the first ones are started first.
        timeout_s: Timeout for all of them together.
        on_done: Called after each answer.

    Returns:
        By server, the number of its tools, or the error in one line; servers that did not answer
        in time are left out.
    """
    answers: dict[str, int | str] = {}

    async def probe_server(name: str) -> None:
        try:
            answers[name] = len((await pool.list_tools(name)).tools)
        except UpstreamError as error:
            answers[name] = str(error)
        on_done()

    try:
        async with asyncio.timeout(timeout_s) as timeout, TaskGroup() as group:
            for name in names:
                group.create_task(probe_server(name))
    except TimeoutError:
        if not timeout.expired():
            raise  # raised by a server's task
    return dict(sorted(answers.items()))


async def _discover_one(
    pool: UpstreamPool, name: str, *, approve_new: bool, now: Callable[[], datetime]
) -> DiscoveryResult:
    started = time.perf_counter()
    try:
        listing = await pool.list_tools(name)
    except UpstreamError as error:
        await run_in_database_thread(
            servers.record_error, name, at=now(), error=str(error), output=error.output
        )
        log.warning("server.discovery_failed", server=name, error=str(error))
        return DiscoveryResult(
            server=name,
            error=str(error),
            error_code=error.code,
            duration_s=time.perf_counter() - started,
        )
    definitions, left_out = await run_in_worker_thread(_select_storable, listing.tools)
    warnings = (*listing.problems, *left_out)
    capabilities = name_capabilities(listing.peer.capabilities)
    # Before the tools, whose change makes clients request all lists of a new server.
    lists = await item_store.discover_items(pool, name, capabilities)
    if listed := lists.get("skills"):
        await pinned_content.discover_skills(pool, name, listed.items, approve_new=approve_new)
    await pinned_content.discover_pages(pool, name, definitions, approve_new=approve_new)
    try:
        recorded = await run_in_database_thread(
            catalogue.record_listing,
            name,
            definitions,
            at=now(),
            approve_new=approve_new,
            complete=listing.complete,
            instructions=listing.peer.instructions,
        )
    except (ObjectDoesNotExist, DataError) as error:
        # Concerns this server only; an unavailable database concerns all and is raised.
        reason = f"server {name!r}: what it lists cannot be stored: {summarize_error(error)}"
        return DiscoveryResult(
            server=name,
            error=reason,
            error_code=NOT_STORABLE,
            duration_s=time.perf_counter() - started,
        )
    await run_in_database_thread(
        servers.record_connection,
        name,
        at=now(),
        protocol_version=listing.peer.protocol_version,
        capabilities=capabilities,
    )
    for warning in warnings:
        log.warning("server.tool_skipped", server=name, reason=warning)
    return DiscoveryResult(
        server=name,
        tools=len(definitions),
        recorded=recorded,
        warnings=warnings,
        duration_s=time.perf_counter() - started,
    )


def _select_storable(
    listed: Sequence[Definition],
) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
    """Return the definitions that can be stored, and warnings about tools left out."""
    kept: dict[str, Definition] = {}
    warnings: list[str] = []
    for item in listed:
        name = make_storable(item.name)
        if problem := _find_storage_problem(item, name, kept):
            warnings.append(problem)
        else:
            kept[name] = item
    return tuple(kept.values()), tuple(warnings)


def _find_storage_problem(item: Definition, name: str, kept: Mapping[str, Definition]) -> str:
    """Return why a tool cannot be stored under a name; empty if it can."""
    if not name:
        return "a tool without a name is left out"
    if len(name) > MAX_NAME_LENGTH:
        return f"tool {name[:40]!r}… is left out: its name has {len(name):,} characters"
    if name in kept:
        return f"tool {item.name!r} has the name of another once stored; the first one counts"
    try:
        canonical.hash_json([item.input_schema, item.output_schema, item.annotations])
    except canonical.NotCanonicalizable as error:
        return f"tool {item.name!r} is left out: {error}"
    return ""
