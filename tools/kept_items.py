"""Keeps what servers list beside their tools, so that a list need not start them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import django.db
import structlog

from gateway_project.foundation.database import in_database
from tools.store import items as store
from tools.upstream.errors import UpstreamError
from tools.upstream.kinds import ITEMS, ItemKind
from tools.upstream.listing import Listing

DISCOVERY_S: Final = 10.0
"""Longest that the discovery of a server's tools waits for its other lists."""
RECALL_S: Final = 2.0
"""Longest that a list waits for the database."""

log = structlog.get_logger(__name__)


class Lister(Protocol):
    """What is needed of the upstream pool."""

    async def list_items(self, server: str, kind: ItemKind) -> Listing:
        """Fetch everything of one kind.

        Raises:
            UpstreamError: If there is no listing.
        """


async def discover(pool: Lister, server: str, capabilities: Collection[str]) -> None:
    """Fetch and keep what a running server lists; what cannot be had or kept is left as it was.

    Args:
        pool: Open connections.
        server: Its name.
        capabilities: What it says it can do.
    """
    lists: dict[str, Listing] = {}
    try:
        async with asyncio.timeout(DISCOVERY_S):
            for kind, listed in ITEMS.items():
                if listed.capability in capabilities:
                    lists[kind] = await pool.list_items(server, kind)
    except (UpstreamError, TimeoutError) as error:
        log.warning("discover.not_listed", server=server, error=str(error))
    await _record(server, lists)


async def recall(kind: ItemKind, servers: Collection[str]) -> Mapping[str, Listing]:
    """Return what servers listed last, as far as it is known."""
    try:
        async with asyncio.timeout(RECALL_S):
            known = await in_database(store.load, kind, servers)
    except (django.db.Error, TimeoutError) as error:
        log.warning("lists.not_recalled", kind=kind, error=str(error))
        return {}
    return {name: Listing(items=items) for name, items in known.items()}


async def remember(server: str, kind: ItemKind, listing: Listing) -> None:
    """Keep what a server lists now."""
    await _record(server, {kind: listing})


async def _record(server: str, lists: Mapping[str, Listing]) -> None:
    if not lists:
        return
    kept: dict[str, tuple[dict[str, Any], ...]] = {
        kind: listing.items for kind, listing in lists.items()
    }
    try:
        await in_database(store.record, server, kept, at=datetime.now(UTC))
    except (django.db.Error, ValueError) as error:  # such as a number that JSON has no form for
        log.warning("lists.not_kept", server=server, error=str(error))
