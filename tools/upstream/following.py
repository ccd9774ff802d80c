"""Hearing of what changes at a server: its lists, and resources that were subscribed to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from mcp.shared.exceptions import MCPError

from tools.upstream.client import Listeners
from tools.upstream.errors import UpstreamError
from tools.upstream.listen import Listener, Subscription
from tools.upstream.peer import Peer
from tools.upstream.status import Kind

_FILTERS: Mapping[Kind, str] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}

Ask = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a request to the server within its time limit."""


class NotFollowed(Exception):
    """The server does not tell of changes of a resource."""


class Following:
    """What one connection follows. A legacy server tells of its lists unasked.

    Args:
        peer: The server.
        ask: Sends a request.
        listener: Opens subscriptions at a modern server.
        listeners: Who hears of changes.
        timeout_s: Seconds a modern server may take to acknowledge.
    """

    def __init__(
        self,
        peer: Peer,
        *,
        ask: Ask,
        listener: Listener,
        listeners: Listeners,
        timeout_s: float,
    ) -> None:
        self._peer = peer
        self._ask = ask
        self._listener = listener
        self._listeners = listeners
        self._timeout_s = timeout_s
        self._resources: Subscription | None = None

    def follow_lists(self) -> None:
        """Have a modern server tell of changes of its lists."""
        kinds = self._peer.tells_of()
        if self._peer.era == "modern" and kinds:
            wanted = {_FILTERS[kind]: True for kind in kinds}
            self._listener.subscribe(wanted, renewed=lambda: self._renewed(kinds))

    async def follow(self, uri: str, *, all_of_them: Collection[str]) -> dict[str, Any]:
        """Hear of changes of a resource.

        Args:
            uri: Its address.
            all_of_them: Addresses of all resources that are followed now, this one too.

        Raises:
            NotFollowed: If the server does not tell of it.
            MCPError: If it refuses.
        """
        if self._peer.era == "legacy":
            return await self._ask("resources/subscribe", {"uri": uri})
        honored = await self._follow_instead(all_of_them)
        if uri not in honored:
            raise NotFollowed
        return {}

    async def unfollow(self, uri: str, *, all_of_them: Collection[str]) -> dict[str, Any]:
        """Hear no more of changes of a resource; arguments as of `follow`."""
        if self._peer.era == "legacy":
            return await self._ask("resources/unsubscribe", {"uri": uri})
        await self._follow_instead(all_of_them)
        return {}

    async def _follow_instead(self, uris: Collection[str]) -> Collection[str]:
        """Replace the subscription, so that at every moment there is one."""
        old, new = self._resources, None
        honored: Mapping[str, Any] = {}
        if uris:
            new = self._listener.subscribe(
                {"resourceSubscriptions": sorted(uris)}, renewed=lambda: self._lost(uris)
            )
            try:
                async with asyncio.timeout(self._timeout_s):
                    honored = await asyncio.shield(new.honored)
            except (TimeoutError, MCPError, UpstreamError, asyncio.CancelledError):
                new.close()
                raise
        self._resources = new
        if old is not None:
            old.close()
        told = honored.get("resourceSubscriptions")
        return told if isinstance(told, list) else ()

    def _renewed(self, kinds: Collection[Kind]) -> None:
        for kind in kinds:
            self._listeners.changed(kind)

    def _lost(self, uris: Collection[str]) -> None:
        for uri in uris:
            self._listeners.updated(uri)
