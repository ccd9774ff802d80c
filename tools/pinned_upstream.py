"""Calls tools only while their servers still list the pinned definitions.

A server may start with definitions other than the approved ones, without notice. The first call
on each connection is therefore preceded by a listing on that connection, and a call is sent only
if the tool's definition is still the pinned one. The same applies after a server reports that its
tools changed. Behind a remote address, one process may replace another unnoticed, so the list of
a remote server also expires. All of this happens in memory: a call does not touch the database
unless it is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gateway_project.foundation import canonical
from gateway_project.foundation.computing import run_in_worker_thread
from tools.catalogue import Catalogue
from tools.definition import Definition
from tools.upstream.errors import DefinitionChanged

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from tools.upstream.connection import Connection
    from tools.upstream.listing import ToolListing
    from tools.upstream.pool import UpstreamPool
    from tools.upstream.request import UpstreamRequest
    from tools.upstream.result import UpstreamResult

REMOTE_TTL_S = 300.0
"""Lifetime of the list of a remote server that declares none."""
SHORTEST_TTL_S, LONGEST_TTL_S = 60.0, 3_600.0
"""Bounds of a declared lifetime: listing costs the server and the gateway far more than a call."""

_UNUSABLE = "unusable"  # equal to no hash
_Key = tuple[str, str, Hashable]
"""Tool, hash of its listed definition, and its `acceptance_key`."""
_Verdicts = dict[_Key, bool]


@dataclass(kw_only=True)
class _ListedTools:
    """The tools that a connection listed.

    Attributes:
        hashes: Hash of each definition, or of the pinned one that it is.
        differing: Definitions that differed from the pinned ones when listed, by tool.
        verdicts: Whether differing definitions of tools with ignored places are accepted; only
            of the latest listing.
        change_count: `Connection.tools_changed` before the listing.
        valid_until: Monotonic time of expiry; None: never.
        listing_lock: Held while the tools are listed.
    """

    hashes: dict[str, str] = field(default_factory=dict)
    differing: dict[str, Definition] = field(default_factory=dict)
    verdicts: _Verdicts = field(default_factory=dict)
    change_count: int = -1
    valid_until: float | None = None
    listing_lock: asyncio.Lock = field(default_factory=asyncio.Lock)


async def _record_nothing(_server: str, _definition: Definition) -> None:
    """Record nothing; the next listing will."""


class PinnedUpstream:
    """Calls a tool only if its definition is the pinned one.

    Args:
        pool: Open connections.
        catalogue: Returns the current catalogue, which compares definitions with the pinned ones.
        on_changed: Called with a server whose definitions differ, to have it discovered again.
        record: Stores a changed definition. Awaited before the call is refused, since the
            gateway may end with the answer. Never raises.
        monotonic: Clock in seconds.
    """

    def __init__(
        self,
        pool: UpstreamPool,
        *,
        catalogue: Callable[[], Catalogue],
        on_changed: Callable[[str], None],
        record: Callable[[str, Definition], Awaitable[None]] = _record_nothing,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._catalogue = catalogue
        self._record = record
        self._on_changed = on_changed
        self._monotonic = monotonic
        self._seen: WeakKeyDictionary[Connection, _ListedTools] = WeakKeyDictionary()

    async def call_tool(
        self, server: str, request: UpstreamRequest, *, caller: Caller
    ) -> UpstreamResult:
        """Call a tool with a caller's rights; see `UpstreamPool.call_tool`.

        Raises:
            DefinitionChanged: If the server's definition differs from the pinned one.
            UpstreamError: If there is no result.
        """

        async def admit(connection: Connection) -> None:
            await self._require_pinned(connection, server, request.tool)

        return await self._pool.call_tool(server, request, caller=caller, admit=admit)

    async def _require_pinned(self, connection: Connection, server: str, tool: str) -> None:
        current = self._seen.get(connection)
        if current is None:
            current = self._seen[connection] = _ListedTools()
        if self._is_current(current, connection) and self._is_as_pinned(current, server, tool):
            return
        async with current.listing_lock:
            if not self._is_current(current, connection):
                await self._refresh_listing(current, connection, server)
            elif not self._is_as_pinned(current, server, tool):
                # The list may be older than an approval: look again before refusing.
                await self._refresh_listing(current, connection, server)
        if not self._is_as_pinned(current, server, tool):
            self._on_changed(server)
            differing = current.differing.get(tool)
            if differing is not None:
                await self._record(server, differing)
            places: tuple[str, ...] = ()
            if differing:
                places = await run_in_worker_thread(
                    self._catalogue().find_changed_places, server, differing
                )
            raise DefinitionChanged(server=server, tool=tool, places=places)

    def _is_current(self, current: _ListedTools, connection: Connection) -> bool:
        return current.change_count == connection.tools_changed and (
            current.valid_until is None or self._monotonic() < current.valid_until
        )

    async def _refresh_listing(
        self, current: _ListedTools, connection: Connection, server: str
    ) -> None:
        change_count = connection.tools_changed
        listing = await connection.list_tools()
        current.hashes = await run_in_worker_thread(
            _hash_tools, listing, server, self._catalogue()
        )
        current.differing = {
            tool.name: tool
            for tool in listing.tools
            if current.hashes[tool.name]
            not in (_UNUSABLE, self._catalogue().find_pinned_hash(server, tool.name))
        }
        current.verdicts = await self._judge_differing(current, server)
        current.change_count = change_count
        current.valid_until = (
            self._monotonic() + _listing_ttl_s(listing) if connection.is_remote else None
        )

    def _is_as_pinned(self, current: _ListedTools, server: str, tool: str) -> bool:
        """Whether a tool's definition is the pinned one; unlisted tools are left to the server."""
        listed = current.hashes.get(tool)
        if listed is None or listed == self._catalogue().find_pinned_hash(server, tool):
            return True
        if tool not in current.differing:
            return False
        key = self._catalogue().acceptance_key(server, tool)
        return current.verdicts.get((tool, listed, key), False)

    async def _judge_differing(self, current: _ListedTools, server: str) -> _Verdicts:
        """Judge the differing definitions, reusing earlier verdicts with the same key."""
        catalogue = self._catalogue()
        definitions: dict[_Key, Definition] = {
            (name, current.hashes[name], acceptance_key): definition
            for name, definition in current.differing.items()
            if (acceptance_key := catalogue.acceptance_key(server, name)) is not None
        }
        verdicts = {
            key: current.verdicts[key] for key in definitions.keys() & current.verdicts.keys()
        }
        new = {key: item for key, item in definitions.items() if key not in verdicts}
        if new:
            verdicts |= await run_in_worker_thread(_judge_definitions, catalogue, server, new)
        return verdicts


def _judge_definitions(
    catalogue: Catalogue, server: str, definitions: Mapping[_Key, Definition]
) -> _Verdicts:
    return {key: catalogue.is_accepted(server, item) for key, item in definitions.items()}


def _listing_ttl_s(listing: ToolListing) -> float:
    if listing.ttl_s is None:
        return REMOTE_TTL_S
    return min(max(listing.ttl_s, SHORTEST_TTL_S), LONGEST_TTL_S)


def _hash_tools(listing: ToolListing, server: str, catalogue: Catalogue) -> dict[str, str]:
    """Return the hash of each listed definition; off the event loop, a list may be megabytes."""
    hashes = dict.fromkeys(listing.omitted, _UNUSABLE)
    return hashes | {tool.name: _hash_tool(tool, server, catalogue) for tool in listing.tools}


def _hash_tool(tool: Definition, server: str, catalogue: Catalogue) -> str:
    try:
        return catalogue.identify(server, tool)
    except canonical.NotCanonicalizable:
        return _UNUSABLE
