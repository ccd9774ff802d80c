"""Change notifications to clients: changed lists and updated resources.

Clients of the handshake era receive them on their connection once they are initialized; those of
2026-07-28 open a stream for them. Both follow the same `ChangeHub`.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Hashable,
    Iterator,
    Mapping,
)
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, NoReturn

import mcp_types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_matches,
    event_to_notification,
)
from mcp_types import (
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
)
from pydantic import BaseModel

from gateway_project.foundation.caller import SessionKey
from gateway_project.foundation.task_group import TaskGroup
from tools.mcp_tasks import ID_FIELD
from tools.resource_uris import ResourceAddress
from tools.upstream.status import ListName

WatchedResources = Mapping[ResourceAddress, str]
"""Resources that a client watches, each with the URI that the client knows it by."""
DeliverEvent = Callable[[ServerEvent], None]
AnnounceTask = Callable[[Mapping[str, Any]], None]
"""Takes the state of an MCP task as `tasks/get` returns it."""
FollowTask = Callable[[AnnounceTask], Coroutine[Any, Any, None]]
"""Announces the state of an MCP task whenever it differs."""

TASK_IDS: Final = "taskIds"
"""Field of a subscription that the extension `tasks` adds."""
NO_TASKS: Final[Mapping[str, FollowTask]] = MappingProxyType({})
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


class _TaskNotification(BaseModel):
    method: Literal["notifications/tasks"] = "notifications/tasks"
    params: dict[str, Any]


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


class _Outbox:
    """Notifications that wait for a slow client: of each subject only the newest."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, BaseModel] = {}
        self._arrived = asyncio.Event()

    def put(self, subject: Hashable, notification: BaseModel) -> None:
        self._waiting[subject] = notification
        self._arrived.set()

    async def send_all(self, send: Callable[[Any], Awaitable[None]]) -> NoReturn:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._waiting:
                await send(self._waiting.pop(next(iter(self._waiting))))


async def notify_legacy_client(
    changes: ChangeHub,
    ctx: ServerRequestContext[Any],
    watched: WatchedResources,
    *,
    client: Callable[[], SessionKey | None],
) -> None:
    """Notify a client of the handshake era of changes until its connection ends.

    Args:
        changes: The hub to follow.
        ctx: Of the client's connection.
        watched: Resources that it watches; may change later.
        client: Returns its `client_key`; None until it has subscribed.
    """
    outbox = _Outbox()

    def deliver(event: ServerEvent) -> None:
        outbox.put(event, _build_notification(event))

    with changes.follow(deliver, watched, client=client):
        await outbox.send_all(ctx.session.send_notification)


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
    tasks: Mapping[str, FollowTask] = NO_TASKS,
) -> NoReturn:
    """Serve `subscriptions/listen` until the client closes it.

    Args:
        changes: The hub to follow.
        ctx: Of the request.
        params: What the client subscribes to; `watched` overrides its resources, `tasks` its
            MCP tasks.
        watched: Resources, each with the URI that the client gave.
        client: `client_key` of the subscriber; None: it subscribes to no resources.
        tasks: How to follow each MCP task.
    """
    asked, uris, outbox = params.notifications, frozenset(watched.values()), _Outbox()
    honored = SubscriptionFilter(
        tools_list_changed=asked.tools_list_changed or None,
        prompts_list_changed=asked.prompts_list_changed or None,
        resources_list_changed=asked.resources_list_changed or None,
        resource_subscriptions=list(watched.values()) or None,
        **({TASK_IDS: list(tasks)} if tasks else {}),
    )
    meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
    send = partial(ctx.session.send_notification, related_request_id=ctx.request_id)

    def deliver(event: ServerEvent) -> None:
        if event_matches(honored, uris, event):
            outbox.put(event, event_to_notification(event, meta))

    def announce(state: Mapping[str, Any]) -> None:
        outbox.put(state[ID_FIELD], _TaskNotification(params={**state, "_meta": meta}))

    with changes.follow(deliver, watched, client=lambda: client):
        acknowledged = SubscriptionsAcknowledgedNotificationParams(
            notifications=honored, _meta=meta
        )
        await send(SubscriptionsAcknowledgedNotification(params=acknowledged))
        async with TaskGroup() as group:
            for follow in tasks.values():
                group.create_task(follow(announce))
            await outbox.send_all(send)
    raise AssertionError  # unreachable: `send_all` does not return
