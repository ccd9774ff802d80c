"""Change notifications to clients: changed lists and updated resources.

Clients of the handshake era receive them on their connection once they are initialized; those of
2026-07-28 open a stream for them. Both follow the same `ChangeHub`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import mcp_types
from mcp.server import ServerRequestContext
from mcp.server.subscriptions import (
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

from gateway_project.foundation.caller import SessionKey
from tools.resource_uris import ResourceAddress
from tools.upstream.status import ListName

WatchedResources = Mapping[ResourceAddress, str]
"""Resources that a client watches, each with the URI that the client knows it by."""
DeliverEvent = Callable[[ServerEvent], None]

MAX_FOLLOWERS: Final = 2_048
_LIST_EVENTS: Final[Mapping[ListName, ServerEvent]] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
_NOTIFICATIONS: Final[Mapping[type[ServerEvent], Callable[[], mcp_types.ServerNotification]]] = {
    ToolsListChanged: mcp_types.ToolListChangedNotification,
    PromptsListChanged: mcp_types.PromptListChangedNotification,
    ResourcesListChanged: mcp_types.ResourceListChangedNotification,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Follower:
    deliver: DeliverEvent
    watched_resources: WatchedResources
    get_client: Callable[[], SessionKey | None]


class ChangeHub:
    """Publishes changes to followers, within one event loop.

    Args:
        muted_lists: Lists that clients do not see, so that their changes are not published.
    """

    def __init__(self, *, muted_lists: Collection[ListName] = ()) -> None:
        self._muted_lists = muted_lists
        self._followers: set[_Follower] = set()

    def notify_list_changed(self, kind: ListName) -> None:
        """Notify all followers that a list has changed."""
        if kind in self._muted_lists:
            return
        for follower in list(self._followers):
            follower.deliver(_LIST_EVENTS[kind])

    def notify_resource_updated(
        self, server: str, uri: str, clients: Collection[SessionKey]
    ) -> None:
        """Notify followers that a watched resource of a server has changed.

        A server may keep a separate resource for each caller under one address, so only these
        clients are notified.
        """
        address = ResourceAddress(server=server, uri=uri)
        for follower in list(self._followers):
            known_as = follower.watched_resources.get(address)
            if known_as is not None and follower.get_client() in clients:
                follower.deliver(ResourceUpdated(known_as))

    def is_watching(self, client: SessionKey, address: ResourceAddress) -> bool:
        """Whether a client still watches a resource."""
        return any(
            follower.get_client() == client and address in follower.watched_resources
            for follower in self._followers
        )

    @contextmanager
    def follow(
        self,
        deliver: DeliverEvent,
        watched: WatchedResources,
        *,
        client: Callable[[], SessionKey | None],
    ) -> Iterator[None]:
        """Deliver changes while the context is open.

        Args:
            deliver: Takes an event; neither blocks nor raises.
            watched: Resources to follow; may change meanwhile.
            client: Returns the `client_key` of the subscriber; None: it has subscribed to none.

        Raises:
            MCPError: If there are too many followers already.
        """
        if len(self._followers) >= MAX_FOLLOWERS:
            raise MCPError(mcp_types.INTERNAL_ERROR, "too many clients listen for changes already")
        follower = _Follower(deliver=deliver, watched_resources=watched, get_client=client)
        self._followers.add(follower)
        try:
            yield
        finally:
            self._followers.discard(follower)


async def notify_legacy_client(
    changes: ChangeHub,
    ctx: ServerRequestContext[Any],
    watched: WatchedResources,
    *,
    client: Callable[[], SessionKey | None],
) -> None:
    """Notify a client of the handshake era of changes until its connection ends.

    Equal changes that accumulate while the client is slow are sent once.

    Args:
        changes: The hub to follow.
        ctx: Of the client's connection.
        watched: Resources that it watches; may change later.
        client: Returns its `client_key`; None until it has subscribed.
    """
    waiting: dict[ServerEvent, None] = {}
    arrived = asyncio.Event()

    def deliver(event: ServerEvent) -> None:
        waiting[event] = None
        arrived.set()

    with changes.follow(deliver, watched, client=client):
        while True:
            await arrived.wait()
            arrived.clear()
            while waiting:
                event = next(iter(waiting))
                del waiting[event]
                await ctx.session.send_notification(_build_notification(event))


def _build_notification(event: ServerEvent) -> mcp_types.ServerNotification:
    if isinstance(event, ResourceUpdated):
        params = mcp_types.ResourceUpdatedNotificationParams(uri=event.uri)
        return mcp_types.ResourceUpdatedNotification(params=params)
    return _NOTIFICATIONS[type(event)]()


async def serve_listen(
    changes: ChangeHub,
    ctx: ServerRequestContext[Any],
    params: SubscriptionsListenRequestParams,
    watched: WatchedResources,
    *,
    client: SessionKey | None,
) -> SubscriptionsListenResult:
    """Serve `subscriptions/listen` until the client closes it.

    Args:
        changes: The hub to follow.
        ctx: Of the request.
        params: What the client subscribes to; `watched` overrides its resources.
        watched: Resources, each with the URI that the client gave.
        client: `client_key` of the subscriber; None: it subscribes to no resources.
    """
    subscribed = params.notifications.model_copy(
        update={"resource_subscriptions": list(watched.values()) or None}
    )
    handler = ListenHandler(_SubscriptionBus(changes, watched, client))
    return await handler(ctx, params.model_copy(update={"notifications": subscribed}))


class _SubscriptionBus:
    """Adapts the hub to the subscription bus that the SDK's handler of one stream expects."""

    def __init__(
        self, changes: ChangeHub, watched: WatchedResources, client: SessionKey | None
    ) -> None:
        self._changes = changes
        self._watched = watched
        self._client = client

    async def publish(self, event: ServerEvent) -> None:
        """Publish nothing: changes come from the hub, not from this stream."""

    def subscribe(self, listener: DeliverEvent) -> Callable[[], None]:
        """Subscribe a listener and return the function that unsubscribes it."""
        following = self._changes.follow(listener, self._watched, client=lambda: self._client)
        following.__enter__()

        def unsubscribe() -> None:
            following.__exit__(None, None, None)

        return unsubscribe
