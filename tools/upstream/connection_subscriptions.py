"""The subscriptions of one connection: to a server's lists and to resources."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from mcp.shared.exceptions import MCPError

from tools.upstream.client import ServerListeners
from tools.upstream.errors import UpstreamError
from tools.upstream.listen import Subscription, SubscriptionListener
from tools.upstream.peer import ServerPeer
from tools.upstream.status import ListName

_FILTERS: Mapping[ListName, str] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}

SendOwnRequest = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Sends a request to the server within its timeout."""


class SubscriptionRefused(Exception):
    """The server does not report changes of a resource."""


class ConnectionSubscriptions:
    """The subscriptions of one connection. Legacy servers report list changes unasked.

    Args:
        peer: The server.
        ask: Sends a request.
        listener: Opens subscriptions at a modern server.
        listeners: Callbacks for changes.
        timeout_s: Seconds a modern server may take to acknowledge.
    """

    def __init__(
        self,
        peer: ServerPeer,
        *,
        ask: SendOwnRequest,
        listener: SubscriptionListener,
        listeners: ServerListeners,
        timeout_s: float,
    ) -> None:
        self._peer = peer
        self._ask = ask
        self._listener = listener
        self._listeners = listeners
        self._timeout_s = timeout_s
        self._resources: Subscription | None = None

    def subscribe_to_lists(self) -> None:
        """Subscribe to list changes at a modern server."""
        kinds = self._peer.notified_kinds()
        if self._peer.era == "modern" and kinds:
            wanted = {_FILTERS[kind]: True for kind in kinds}
            self._listener.subscribe(wanted, renewed=lambda: self._report_lists_changed(kinds))

    async def subscribe(self, uri: str, *, all_uris: Collection[str]) -> dict[str, Any]:
        """Subscribe to changes of a resource.

        Args:
            uri: URI of the resource.
            all_uris: All URIs subscribed to after the change, including this one.

        Raises:
            SubscriptionRefused: If the server does not report changes of it.
            MCPError: If the server answers with an error.
        """
        if self._peer.era == "legacy":
            return await self._ask("resources/subscribe", {"uri": uri})
        honored = await self._replace_subscription(all_uris)
        if uri not in honored:
            raise SubscriptionRefused
        return {}

    async def unsubscribe(self, uri: str, *, all_uris: Collection[str]) -> dict[str, Any]:
        """Unsubscribe from changes of a resource; arguments as for `subscribe`."""
        if self._peer.era == "legacy":
            return await self._ask("resources/unsubscribe", {"uri": uri})
        await self._replace_subscription(all_uris)
        return {}

    async def _replace_subscription(self, uris: Collection[str]) -> Collection[str]:
        """Open the new subscription before closing the old one, so that there is no gap."""
        old, new = self._resources, None
        honored: Mapping[str, Any] = {}
        if uris:
            new = self._listener.subscribe(
                {"resourceSubscriptions": sorted(uris)},
                renewed=lambda: self._report_resources_updated(uris),
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
        honored_uris = honored.get("resourceSubscriptions")
        return honored_uris if isinstance(honored_uris, list) else ()

    def _report_lists_changed(self, kinds: Collection[ListName]) -> None:
        for kind in kinds:
            self._listeners.on_list_changed(kind)

    def _report_resources_updated(self, uris: Collection[str]) -> None:
        for uri in uris:
            self._listeners.on_resource_updated(uri)
