"""Ask every server what tools it has, all at once, and store what they say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog
from django.core.exceptions import ObjectDoesNotExist
from django.db import DataError

from gateway_project.foundation import canonical
from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from tools import kept_items
from tools.definition import Definition, storable
from tools.store import catalogue, servers
from tools.store.catalogue import Recorded
from tools.upstream.errors import UpstreamError
from tools.upstream.listing import ToolListing

MAX_NAME_LENGTH = 500
"""Far beyond any real name, and short enough for PostgreSQL's index in any script."""

log = structlog.get_logger(__name__)


class Lister(kept_items.Lister, Protocol):
    """What discovery needs of the upstream pool."""

    async def list_tools(self, server: str) -> ToolListing:
        """Return what a server lists.

        Raises:
            UpstreamError: If there is no listing.
        """


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """How the discovery of one server went.

    Attributes:
        server: Its name.
        tools: Number of tools it lists, those that could not be stored left out.
        recorded: What changed; None where it failed.
        error: One line that says what went wrong, empty if nothing did.
        warnings: Tools that could not be stored, and why.
        duration_s: Seconds it took.
    """

    server: str
    tools: int = 0
    recorded: Recorded | None = None
    error: str = ""
    warnings: tuple[str, ...] = field(default=())
    duration_s: float = 0.0


def _now() -> datetime:
    return datetime.now(UTC)


async def discover(
    pool: Lister,
    names: Iterable[str],
    *,
    approve_new: bool,
    on_done: Callable[[Discovered], None] = lambda _: None,
    now: Callable[[], datetime] = _now,
) -> tuple[Discovered, ...]:
    """Refresh the catalogue of several servers in parallel; one that fails harms no other.

    Args:
        pool: Open connections.
        names: Servers to ask.
        approve_new: Whether tools seen for the first time may be used at once.
        on_done: Told of each server as it is done.
        now: Clock.

    Returns:
        One entry a server, by name.
    """
    found: list[Discovered] = []

    async def one(name: str) -> None:
        outcome = await _discover_one(pool, name, approve_new=approve_new, now=now)
        found.append(outcome)
        on_done(outcome)

    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(one(name))
    return tuple(sorted(found, key=lambda outcome: outcome.server))


async def probe(pool: Lister, names: Iterable[str]) -> dict[str, int | str]:
    """List the tools of several servers in parallel without storing anything.

    Returns:
        By server, the number of its tools, or one line that says what went wrong.
    """
    found: dict[str, int | str] = {}

    async def one(name: str) -> None:
        try:
            found[name] = len((await pool.list_tools(name)).tools)
        except UpstreamError as error:
            found[name] = str(error)

    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(one(name))
    return dict(sorted(found.items()))


async def _discover_one(
    pool: Lister, name: str, *, approve_new: bool, now: Callable[[], datetime]
) -> Discovered:
    started = time.perf_counter()
    try:
        listing = await pool.list_tools(name)
    except UpstreamError as error:
        await in_database(servers.record_error, name, at=now(), error=str(error))
        log.warning("discover.failed", server=name, error=str(error))
        return Discovered(server=name, error=str(error), duration_s=time.perf_counter() - started)
    definitions, left_out = _definitions(listing.tools)
    warnings = (*listing.problems, *left_out)
    # Before the tools, whose change tells clients to ask for all lists of a new server.
    await kept_items.discover(pool, name, listing.capabilities or ())
    try:
        recorded = await in_database(
            catalogue.record_listing,
            name,
            definitions,
            at=now(),
            approve_new=approve_new,
            complete=listing.complete,
            instructions=listing.instructions,
        )
    except (ObjectDoesNotExist, DataError) as error:
        # Of this server alone; that the database is away concerns all and is raised.
        reason = f"server {name!r}: what it lists cannot be stored: {first_line(error)}"
        return Discovered(server=name, error=reason, duration_s=time.perf_counter() - started)
    await in_database(
        servers.record_connected,
        name,
        at=now(),
        protocol_version=listing.protocol_version,
        capabilities=listing.capabilities,
    )
    for warning in warnings:
        log.warning("discover.tool_left_out", server=name, reason=warning)
    return Discovered(
        server=name,
        tools=len(definitions),
        recorded=recorded,
        warnings=warnings,
        duration_s=time.perf_counter() - started,
    )


def _definitions(listed: Sequence[Any]) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
    """Translate the SDK's tools; a tool that cannot be stored is left out with a reason."""
    kept: dict[str, Definition] = {}
    warnings: list[str] = []
    for tool in listed:
        item = to_definition(tool)
        name = storable(item.name)
        if problem := _problem(item, name, kept):
            warnings.append(problem)
        else:
            kept[name] = item
    return tuple(kept.values()), tuple(warnings)


def _problem(item: Definition, name: str, kept: Mapping[str, Definition]) -> str:
    """Say why a tool cannot be stored under a name; empty if it can."""
    if not name:
        return "a tool without a name is left out"
    if len(name) > MAX_NAME_LENGTH:
        return f"tool {name[:40]!r}… is left out: its name has {len(name):,} characters"
    if name in kept:
        return f"tool {item.name!r} has the name of another once stored; the first one counts"
    try:
        canonical.digest([item.input_schema, item.output_schema, item.annotations])
    except canonical.NotCanonical as error:
        return f"tool {item.name!r} is left out: {error}"
    return ""


def to_definition(tool: Any) -> Definition:
    """Translate a tool of the SDK (`mcp_types.Tool`)."""
    annotations = tool.annotations
    hints = {} if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True)
    return Definition(
        name=tool.name,
        title=tool.title or hints.get("title") or "",
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=hints,
    )
