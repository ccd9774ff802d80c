"""Stores lists of resources, templates and prompts, so that listing need not start servers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import django.db
import structlog

from gateway_project.foundation.caller import GATEWAY
from gateway_project.foundation.database import run_in_database_thread
from tools.store import items as store
from tools.upstream.errors import UpstreamError
from tools.upstream.kinds import ITEMS, ItemKind
from tools.upstream.listing import ItemListing

if TYPE_CHECKING:
    from tools.upstream.pool import UpstreamPool

DISCOVERY_TIMEOUT_S: Final = 10.0
"""Longest that the discovery of a server's tools waits for its other lists."""
LOAD_TIMEOUT_S: Final = 2.0
"""Longest that a list waits for the database."""

log = structlog.get_logger(__name__)


async def discover_items(
    pool: UpstreamPool, server: str, capabilities: Collection[str]
) -> Mapping[str, ItemListing]:
    """Fetch and store the lists of a running server; on failure the stored ones stay.

    Args:
        pool: Open connections.
        server: Its name.
        capabilities: Its declared capabilities.

    Returns:
        The lists, as far as they could be fetched.
    """
    lists: dict[str, ItemListing] = {}
    try:
        async with asyncio.timeout(DISCOVERY_TIMEOUT_S):
            for kind, listed in ITEMS.items():
                if listed.capability in capabilities:
                    lists.update(await _list_items(pool, server, kind))
    except TimeoutError:
        log.warning(
            "server.items_not_listed", server=server, error=f"not within {DISCOVERY_TIMEOUT_S:g} s"
        )
    await _store_items(server, lists)
    return lists


async def _list_items(pool: UpstreamPool, server: str, kind: ItemKind) -> dict[str, ItemListing]:
    """Return a list by its kind; empty if the server refuses it."""
    try:
        return {kind: await pool.list_items(server, kind, caller=GATEWAY)}
    except UpstreamError as error:
        log.warning("server.items_not_listed", server=server, kind=kind, error=str(error))
        return {}


async def load_items(kind: ItemKind, servers: Collection[str]) -> Mapping[str, ItemListing]:
    """Return the stored lists of servers, by name; empty on failure."""
    try:
        async with asyncio.timeout(LOAD_TIMEOUT_S):
            stored = await run_in_database_thread(store.load_items, kind, servers)
    except (django.db.Error, TimeoutError) as error:
        log.warning("server.items_not_loaded", kind=kind, error=str(error))
        return {}
    return {name: ItemListing(items=items) for name, items in stored.items()}


async def record_items(server: str, kind: ItemKind, listing: ItemListing) -> None:
    """Store a server's current list; failures are logged."""
    await _store_items(server, {kind: listing})


async def _store_items(server: str, lists: Mapping[str, ItemListing]) -> None:
    if not lists:
        return
    items: dict[str, tuple[dict[str, Any], ...]] = {
        kind: listing.items for kind, listing in lists.items()
    }
    try:
        await run_in_database_thread(store.record_items, server, items, at=datetime.now(UTC))
    except (django.db.Error, ValueError) as error:  # such as a number that JSON cannot represent
        log.warning("server.items_not_stored", server=server, error=str(error))
