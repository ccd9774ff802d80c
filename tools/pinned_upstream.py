"""The pool of servers, each compared with what is pinned before it is called.

A server may come up with other definitions than those that were approved, and need not say so. So
the first call on each connection is preceded by a listing on that very connection, and a call goes
out only if the tool is still defined there as it was pinned. So it is after a server has said that
its tools changed. Behind the address of a remote server one process may take the place of another
unnoticed, so that its list is also looked at again when it has become old. All of this in memory:
the database is not on the path of a call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from gateway_project.foundation import canonical
from tools.discover import to_definition
from tools.upstream.errors import DefinitionChanged
from tools.upstream.listing import ToolListing
from tools.upstream.result import UpstreamResult

REMOTE_TTL_S = 300.0
"""How long the list of a remote server that names no time of its own is believed."""
SHORTEST_TTL_S, LONGEST_TTL_S = 60.0, 3_600.0
"""Bounds of the time it names: a list costs it and the gateway far more than a call."""

_UNUSABLE = "unusable"  # equal to no hash


class Life(Protocol):
    """A connection to a server; another process or session is another life."""

    @property
    def is_over(self) -> bool:
        """Whether nothing can be called on it any more."""

    @property
    def is_remote(self) -> bool:
        """Whether something else may answer on it from one call to the next."""

    @property
    def tools_changed(self) -> int:
        """Times its tools are known to have changed."""

    async def list_tools(self) -> ToolListing:
        """Return what it lists."""


class Pool(Protocol):
    """What is needed of the upstream pool."""

    @property
    def call_tool(self) -> Callable[..., Awaitable[UpstreamResult]]:
        """Call a tool; takes what `UpstreamPool.call_tool` takes."""


@dataclass(kw_only=True)
class _Seen:
    """What a connection listed.

    Attributes:
        hashes: By tool.
        changed: What `Life.tools_changed` was before the listing.
        until: Monotonic second to which it is believed; None: for good.
        turn: Held while it is listed.
    """

    hashes: dict[str, str] = field(default_factory=dict)
    changed: int = -1
    until: float | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class PinnedUpstream:
    """Calls tools as they were pinned, or not at all.

    Args:
        pool: Open connections.
        pinned: Hash of the pinned definition of a tool of a server, empty if there is none.
        on_changed: Told of a server whose definitions differ, to have it discovered again.
        monotonic: Clock in seconds.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        pinned: Callable[[str, str], str],
        on_changed: Callable[[str], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._pinned = pinned
        self._on_changed = on_changed
        self._monotonic = monotonic
        self._seen: WeakKeyDictionary[Life, _Seen] = WeakKeyDictionary()

    async def call_tool(
        self, server: str, tool: str, arguments: Mapping[str, Any], **options: Any
    ) -> UpstreamResult:
        """Call a tool; see `UpstreamPool.call_tool`.

        Raises:
            DefinitionChanged: If the server defines it otherwise by now.
            UpstreamError: If there is no result.
        """

        async def admit(life: Life) -> None:
            await self._require_pinned(life, server, tool)

        return await self._pool.call_tool(server, tool, arguments, admit=admit, **options)

    async def _require_pinned(self, life: Life, server: str, tool: str) -> None:
        seen = self._seen.get(life)
        if seen is None:
            seen = self._seen[life] = _Seen()
        if self._is_current(seen, life) and self._as_pinned(seen, server, tool):
            return
        async with seen.turn:
            if not self._is_current(seen, life):
                await self._list(seen, life)
            elif not self._as_pinned(seen, server, tool):
                # The list may be older than an approval: look again before refusing.
                await self._list(seen, life)
        if not self._as_pinned(seen, server, tool):
            self._on_changed(server)
            raise DefinitionChanged(server=server, tool=tool)

    def _is_current(self, seen: _Seen, life: Life) -> bool:
        return seen.changed == life.tools_changed and (
            seen.until is None or self._monotonic() < seen.until
        )

    async def _list(self, seen: _Seen, life: Life) -> None:
        changed = life.tools_changed
        listing = await life.list_tools()
        seen.hashes = dict.fromkeys(listing.left_out, _UNUSABLE)
        seen.hashes |= {tool.name: _hash(tool) for tool in listing.tools}
        seen.changed = changed
        seen.until = self._monotonic() + _ttl_s(listing) if life.is_remote else None

    def _as_pinned(self, seen: _Seen, server: str, tool: str) -> bool:
        """Whether a tool is defined as pinned; what is not listed is the server's to refuse."""
        listed = seen.hashes.get(tool)
        return listed is None or listed == self._pinned(server, tool)


def _ttl_s(listing: ToolListing) -> float:
    if listing.ttl_s is None:
        return REMOTE_TTL_S
    return min(max(listing.ttl_s, SHORTEST_TTL_S), LONGEST_TTL_S)


def _hash(tool: Any) -> str:
    try:
        return to_definition(tool).hash
    except canonical.NotCanonical:
        return _UNUSABLE
