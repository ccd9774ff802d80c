"""The pool of servers, each compared with what is pinned before it is called.

A server may come up with other definitions than those that were approved, and need not say so. So
the first call of each of its lives is preceded by a listing, and a call goes out only if the tool
is still defined as it was pinned. In memory: the database is not on the path of a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from gateway_project.foundation import canonical
from tools.discover import to_definition
from tools.upstream.errors import DefinitionChanged, UpstreamError
from tools.upstream.listing import ToolListing
from tools.upstream.result import UpstreamResult
from tools.upstream.status import ServerStatus

Life = tuple[object, object]
"""Process id and start of a connection: another life is another process."""


class Pool(Protocol):
    """What is needed of the upstream pool."""

    async def warm(self, *names: str) -> Mapping[str, UpstreamError]:
        """Start servers; return why those that could not be started could not."""

    async def list_tools(self, server: str) -> ToolListing:
        """Return what a server lists."""

    @property
    def call_tool(self) -> Callable[..., Awaitable[UpstreamResult]]:
        """Call a tool; takes what `UpstreamPool.call_tool` takes."""

    def status(self) -> Mapping[str, ServerStatus]:
        """Say how all servers fare, by name."""


class PinnedUpstream:
    """Calls tools as they were pinned, or not at all.

    Args:
        pool: Open connections.
        pinned: Hash of the pinned definition of a tool of a server, empty if there is none.
        on_changed: Told of a server whose definitions differ, to have it discovered again.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        pinned: Callable[[str, str], str],
        on_changed: Callable[[str], None],
    ) -> None:
        self._pool = pool
        self._pinned = pinned
        self._on_changed = on_changed
        self._listed: dict[str, tuple[Life, dict[str, str]]] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    async def call_tool(
        self, server: str, tool: str, arguments: Mapping[str, Any], **options: Any
    ) -> UpstreamResult:
        """Call a tool; see `UpstreamPool.call_tool`.

        Raises:
            DefinitionChanged: If the server defines it otherwise by now.
            UpstreamError: If there is no result.
        """
        async with self._turns.setdefault(server, asyncio.Lock()):
            if self._known(server) is None:
                await self._list(server)
            if not self._as_pinned(server, tool):
                # The list may be older than an approval: look again before refusing.
                await self._list(server)
        if not self._as_pinned(server, tool):
            self._on_changed(server)
            raise DefinitionChanged(server=server, tool=tool)
        return await self._pool.call_tool(server, tool, arguments, **options)

    def _known(self, server: str) -> Mapping[str, str] | None:
        """Return the hashes that this life of the server lists, if it was asked."""
        life, listed = self._listed.get(server, (None, {}))
        return listed if life is not None and life == self._life(server) else None

    def _life(self, server: str) -> Life | None:
        status = self._pool.status().get(server)
        if status is None or status.connected_at is None:
            return None
        return status.pid, status.connected_at

    async def _list(self, server: str) -> None:
        failures = await self._pool.warm(server)
        if server in failures:
            raise failures[server]
        life = self._life(server)
        listing = await self._pool.list_tools(server)
        if life is not None:
            self._listed[server] = life, {tool.name: _hash(tool) for tool in listing.tools}

    def _as_pinned(self, server: str, tool: str) -> bool:
        """Whether a tool is defined as pinned; what is not listed is the server's to refuse."""
        listed = (self._known(server) or {}).get(tool)
        return listed is None or listed == self._pinned(server, tool)


def _hash(tool: Any) -> str:
    try:
        return to_definition(tool).hash
    except canonical.NotCanonical:
        return ""
