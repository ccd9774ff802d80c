"""Keeps `subscriptions/listen` streams open at a modern server."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mcp.shared.dispatcher import as_request_id
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, RequestId

from gateway_project.foundation.task_group import TaskGroup
from tools.upstream.errors import UpstreamError

RELISTEN_S, RELISTEN_CAP_S = 5.0, 300.0  # between subscriptions that the server keeps ending

LASTING_S = 60.0
"""A stream that was open for longer is reopened as soon as the first one."""

SubscriptionFilter = Mapping[str, Any]
"""A `SubscriptionFilter` of the protocol."""


class SendRequest(Protocol):
    """Sends a request under a given id and returns its result."""

    def __call__(
        self, method: str, params: Mapping[str, Any], *, request_id: RequestId
    ) -> Awaitable[dict[str, Any]]:
        """Send the request."""


@dataclass(kw_only=True, eq=False)
class Subscription:
    """A subscription that is reopened whenever the server ends it.

    Attributes:
        wanted: Filter that was requested.
        honored: Filter that the server agreed to; raises `MCPError` if it refused.
        closed: Whether `close` was called.
    """

    wanted: SubscriptionFilter
    honored: asyncio.Future[Mapping[str, Any]]
    closed: bool = False
    task: asyncio.Task[None] | None = None

    def close(self) -> None:
        """End the subscription."""
        self.closed = True
        if self.task is not None:
            self.task.cancel()


@dataclass(kw_only=True)
class _Stream:
    subscription: Subscription
    acknowledged: asyncio.Future[Mapping[str, Any]]
    sent: asyncio.Future[dict[str, Any]]


class SubscriptionListener:
    """Opens subscriptions and keeps them open.

    Args:
        send: Sends a request to the server.
        group: Runs the tasks that hold the streams.
    """

    def __init__(self, send: SendRequest, *, group: TaskGroup) -> None:
        self._send = send
        self._group = group
        self._numbers = itertools.count(1)
        self._streams: dict[RequestId, _Stream] = {}

    def subscribe(
        self, wanted: SubscriptionFilter, *, renewed: Callable[[], None]
    ) -> Subscription:
        """Open a subscription.

        Args:
            wanted: Filter to request.
            renewed: Called after the stream was reopened: notifications in between are lost.
        """
        honored: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        subscription = Subscription(wanted=wanted, honored=honored)
        subscription.task = self._group.create_task(self._keep_open(subscription, renewed))
        return subscription

    def handle_notification(self, method: str, params: Mapping[str, Any]) -> bool:
        """Handle a notification about a subscription; return whether it was consumed."""
        if method == "notifications/cancelled":
            stream = self._streams.get(as_request_id(params.get("requestId")) or "")
            if stream is not None:
                stream.sent.cancel()
            return stream is not None
        name = _subscription_id(params)
        stream = self._streams.get(name or "")
        if method == "notifications/subscriptions/acknowledged":
            honored = params.get("notifications")
            if stream is not None and isinstance(honored, dict):
                _resolve_future(stream.acknowledged, honored)
            return True
        return name is not None and (stream is None or stream.subscription.closed)

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
        loop = asyncio.get_running_loop()
        acknowledged: asyncio.Future[Mapping[str, Any]] = loop.create_future()
        params = {"notifications": subscription.wanted}
        sent = asyncio.ensure_future(
            self._send("subscriptions/listen", params, request_id=request_id)
        )
        self._streams[request_id] = _Stream(
            subscription=subscription, acknowledged=acknowledged, sent=sent
        )
        try:
            first: set[asyncio.Future[Any]] = {sent, acknowledged}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not acknowledged.done():
                if not sent.cancelled():
                    sent.result()  # raises the refusal
                return
            _resolve_future(subscription.honored, acknowledged.result())
            if renewed is not None:
                renewed()
            await asyncio.wait({sent})
            if not sent.cancelled():
                sent.exception()  # marks it retrieved; an acknowledged stream is always reopened
        finally:
            del self._streams[request_id]
            sent.cancel()


def _may_pass(error: Exception) -> bool:
    """Whether a server that once accepted a subscription may accept it again."""
    return isinstance(error, MCPError) and error.code not in (METHOD_NOT_FOUND, CONNECTION_CLOSED)


def _resolve_future(future: asyncio.Future[Mapping[str, Any]], value: Mapping[str, Any]) -> None:
    if not future.done():
        future.set_result(value)


def _subscription_id(params: Mapping[str, Any]) -> RequestId | None:
    meta = params.get("_meta")
    return as_request_id(meta.get(SUBSCRIPTION_ID_META_KEY)) if isinstance(meta, dict) else None
