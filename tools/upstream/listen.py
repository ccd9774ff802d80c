"""Follows lists and resources of a modern server by `subscriptions/listen` streams."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mcp.shared.dispatcher import as_request_id
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, RequestId

from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.errors import UpstreamError
from tools.upstream.in_flight import ClientProfile
from tools.upstream.status import ListName

RELISTEN_S, RELISTEN_CAP_S = 5.0, 300.0  # between subscriptions that the server keeps ending

LASTING_S = 60.0
"""A stream that was open for longer is reopened as soon as the first one."""

_FILTERS: Mapping[ListName, str] = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}

OpenStream = Callable[[Mapping[str, Any], RequestId], Awaitable[None]]
"""Sends `subscriptions/listen` with parameters under a given id, and waits for its end."""


@dataclass(kw_only=True, eq=False)
class Subscription:
    """A subscription that is reopened whenever the server ends it.

    Attributes:
        wanted: Filter that was requested.
        honored: Filter that the server agreed to; raises `MCPError` if it refused.
        acknowledged: The same of the stream that is open now.
        stream: The request that holds that stream open.
        task: Keeps it open.
        closed: Whether `close` was called.
    """

    wanted: Mapping[str, Any]
    honored: asyncio.Future[Mapping[str, Any]]
    acknowledged: asyncio.Future[Mapping[str, Any]] | None = None
    stream: asyncio.Future[None] | None = None
    task: asyncio.Task[None] | None = None
    closed: bool = False

    def close(self) -> None:
        """End the subscription."""
        self.closed = True
        if self.task is not None:
            self.task.cancel()


class SubscriptionListener:
    """Follows lists and resources of one modern server.

    Args:
        open_stream: Opens one stream of changes.
        client: Is told of the changes.
        group: Runs the tasks that hold the streams.
    """

    def __init__(
        self, open_stream: OpenStream, *, client: ClientProfile, group: TaskGroup
    ) -> None:
        self._open_stream = open_stream
        self._client = client
        self._group = group
        self._numbers = itertools.count(1)
        self._streams: dict[RequestId, Subscription] = {}
        self._resources: Subscription | None = None

    def follow_lists(self, kinds: Collection[ListName]) -> None:
        """Subscribe to changes of these lists."""

        def report_all() -> None:
            for kind in kinds:
                self._client.on_list_changed(kind)

        if kinds:
            self.subscribe({_FILTERS[kind]: True for kind in kinds}, renewed=report_all)

    async def follow_resources(
        self, uris: Collection[str], *, timeout_s: float
    ) -> Collection[str]:
        """Subscribe to changes of these resources instead of those so far, without a gap.

        Returns:
            The URIs that the server reports changes of.

        Raises:
            MCPError: If the server refuses.
            TimeoutError: If it does not acknowledge in time.
        """

        def report_all() -> None:
            for uri in uris:
                self._client.on_resource_updated(uri)

        old, new = self._resources, None
        honored: Mapping[str, Any] = {}
        if uris:
            new = self.subscribe({"resourceSubscriptions": sorted(uris)}, renewed=report_all)
            try:
                async with asyncio.timeout(timeout_s):
                    honored = await asyncio.shield(new.honored)
            except (TimeoutError, MCPError, UpstreamError, asyncio.CancelledError):
                new.close()
                raise
        self._resources = new
        if old is not None:
            old.close()
        honored_uris = honored.get("resourceSubscriptions")
        return honored_uris if isinstance(honored_uris, list) else ()

    def subscribe(self, wanted: Mapping[str, Any], *, renewed: Callable[[], None]) -> Subscription:
        """Open a subscription.

        Args:
            wanted: A `SubscriptionFilter` of the protocol.
            renewed: Called after the stream was reopened: notifications in between are lost.
        """
        honored: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        subscription = Subscription(wanted=wanted, honored=honored)
        subscription.task = self._group.create_task(self._keep_open(subscription, renewed))
        return subscription

    def handle_notification(self, method: str, params: Mapping[str, Any]) -> bool:
        """Handle a notification about a subscription; return whether it was consumed."""
        if method == "notifications/cancelled":
            ended = self._streams.get(as_request_id(params.get("requestId")) or "")
            if ended is not None and ended.stream is not None:
                ended.stream.cancel()
            return ended is not None
        name = _subscription_id(params)
        subscription = self._streams.get(name or "")
        if method == "notifications/subscriptions/acknowledged":
            honored = params.get("notifications")
            if subscription is not None and isinstance(honored, dict):
                _resolve_future(subscription.acknowledged, honored)
            return True
        return name is not None and (subscription is None or subscription.closed)

    async def _keep_open(self, subscription: Subscription, renewed: Callable[[], None]) -> None:
        delay_s, honored = RELISTEN_S, subscription.honored
        loop = asyncio.get_running_loop()
        while True:
            opened_at = loop.time()
            try:
                await self._hold_stream(subscription, renewed if honored.done() else None)
            except (MCPError, UpstreamError) as error:
                if not honored.done():
                    honored.set_exception(error)
                    honored.exception()  # marks it retrieved: it may have no waiter
                    return
                if not _may_pass(error):  # the connection has ended, say
                    return
            if loop.time() - opened_at > LASTING_S:
                delay_s = RELISTEN_S
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, RELISTEN_CAP_S)

    async def _hold_stream(
        self, subscription: Subscription, renewed: Callable[[], None] | None
    ) -> None:
        """Hold one stream open until it ends for any reason.

        Raises:
            MCPError: If it is refused.
        """
        request_id = f"listen-{next(self._numbers)}"
        acknowledged: asyncio.Future[Mapping[str, Any]] = (
            asyncio.get_running_loop().create_future()
        )
        params = {"notifications": subscription.wanted}
        stream = asyncio.ensure_future(self._open_stream(params, request_id))
        subscription.acknowledged, subscription.stream = acknowledged, stream
        self._streams[request_id] = subscription
        try:
            first: set[asyncio.Future[Any]] = {stream, acknowledged}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not acknowledged.done():
                if not stream.cancelled():
                    stream.result()  # raises the refusal
                return
            _resolve_future(subscription.honored, acknowledged.result())
            if renewed is not None:
                renewed()
            await asyncio.wait({stream})
            if not stream.cancelled():
                stream.exception()  # marks it retrieved; an acknowledged stream is reopened
        finally:
            del self._streams[request_id]
            stream.cancel()


def _may_pass(error: Exception) -> bool:
    """Whether a server that once accepted a subscription may accept it again."""
    return isinstance(error, MCPError) and error.code not in (METHOD_NOT_FOUND, CONNECTION_CLOSED)


def _resolve_future(
    future: asyncio.Future[Mapping[str, Any]] | None, value: Mapping[str, Any]
) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _subscription_id(params: Mapping[str, Any]) -> RequestId | None:
    meta = params.get("_meta")
    return as_request_id(meta.get(SUBSCRIPTION_ID_META_KEY)) if isinstance(meta, dict) else None
