"""Who wants to know of changes, and what they are told: list changes, and updates of resources.

Clients of the handshake era are told on their connection, once they have said that they are
initialized. Those of 2026-07-28 open a stream for it. Both follow the same `Changes`.
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

from tools.resource_uris import Address
from tools.upstream.status import Kind

Watched = Mapping[Address, str]
"""Resources that a client wants to hear of, each with the URI that the client knows it by."""
Deliver = Callable[[ServerEvent], None]

MAX_FOLLOWERS: Final = 2_048
_EVENTS: Final[Mapping[Kind, ServerEvent]] = {
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
    deliver: Deliver
    watched: Watched
    session: Callable[[], str]


class Changes:
    """Hands changes to those who follow them; for one event loop.

    Args:
        silent: Lists whose changes clients do not see, and so are not told of.
    """

    def __init__(self, *, silent: Collection[Kind] = ()) -> None:
        self._silent = silent
        self._followers: set[_Follower] = set()

    def changed(self, kind: Kind) -> None:
        """Tell everybody that a list has changed."""
        if kind in self._silent:
            return
        for follower in list(self._followers):
            follower.deliver(_EVENTS[kind])

    def updated(self, server: str, uri: str, sessions: Collection[str]) -> None:
        """Tell those who watch a server's resource that its content has changed.

        A server may keep something for each caller under the same address, so only these sessions
        are told.
        """
        address = Address(server=server, uri=uri)
        for follower in list(self._followers):
            known_as = follower.watched.get(address)
            if known_as is not None and follower.session() in sessions:
                follower.deliver(ResourceUpdated(known_as))

    def watches(self, session: str, address: Address) -> bool:
        """Whether a session of a client still wants to hear of a resource."""
        return any(
            follower.session() == session and address in follower.watched
            for follower in self._followers
        )

    @contextmanager
    def followed(
        self, deliver: Deliver, watched: Watched, *, session: Callable[[], str]
    ) -> Iterator[None]:
        """Hand changes on while inside.

        Args:
            deliver: Takes one; neither waits nor raises.
            watched: May grow and shrink meanwhile.
            session: Returns the key by which servers know who subscribed.

        Raises:
            MCPError: If too many follow already.
        """
        if len(self._followers) >= MAX_FOLLOWERS:
            raise MCPError(mcp_types.INTERNAL_ERROR, "too many clients listen for changes already")
        follower = _Follower(deliver=deliver, watched=watched, session=session)
        self._followers.add(follower)
        try:
            yield
        finally:
            self._followers.discard(follower)


async def tell(
    changes: Changes,
    ctx: ServerRequestContext[Any],
    watched: Watched,
    *,
    session: Callable[[], str],
) -> None:
    """Tell a client of the handshake era of changes for as long as its connection lasts.

    What has changed several times since the client last took something is told once.

    Args:
        changes: What is followed.
        ctx: Of the client's connection.
        watched: Resources it wants to hear of, now and later.
        session: Returns the key by which servers know it, once it has subscribed to one.
    """
    waiting: dict[ServerEvent, None] = {}
    arrived = asyncio.Event()

    def deliver(event: ServerEvent) -> None:
        waiting[event] = None
        arrived.set()

    with changes.followed(deliver, watched, session=session):
        while True:
            await arrived.wait()
            arrived.clear()
            while waiting:
                event = next(iter(waiting))
                del waiting[event]
                await ctx.session.send_notification(_notification(event))


def _notification(event: ServerEvent) -> mcp_types.ServerNotification:
    if isinstance(event, ResourceUpdated):
        params = mcp_types.ResourceUpdatedNotificationParams(uri=event.uri)
        return mcp_types.ResourceUpdatedNotification(params=params)
    return _NOTIFICATIONS[type(event)]()


async def listen(
    changes: Changes,
    ctx: ServerRequestContext[Any],
    params: SubscriptionsListenRequestParams,
    watched: Watched,
    *,
    session: str = "",
) -> SubscriptionsListenResult:
    """Serve `subscriptions/listen` until the client closes it.

    Args:
        changes: What is followed.
        ctx: Of the request.
        params: What the client wants to hear of; of resources, those in `watched` count.
        watched: Resources by the URIs that the client gave.
        session: Key by which servers know who subscribed.
    """
    wanted = params.notifications.model_copy(
        update={"resource_subscriptions": list(watched.values()) or None}
    )
    handler = ListenHandler(_Bus(changes, watched, session))
    return await handler(ctx, params.model_copy(update={"notifications": wanted}))


class _Bus:
    """What the SDK's handler of one stream subscribes to."""

    def __init__(self, changes: Changes, watched: Watched, session: str) -> None:
        self._changes = changes
        self._watched = watched
        self._session = session

    async def publish(self, event: ServerEvent) -> None:
        """Publish nothing: changes come from behind, not from this stream."""

    def subscribe(self, listener: Deliver) -> Callable[[], None]:
        """Have a listener told; returns how to end that."""
        following = self._changes.followed(listener, self._watched, session=lambda: self._session)
        following.__enter__()

        def unsubscribe() -> None:
            following.__exit__(None, None, None)

        return unsubscribe
