"""Requests and their answers over a transport's two streams, exactly as they are on the wire.

The SDK's own session reads a result into its models, which drops every field they do not know,
refuses what does not conform, and checks structured content against the output schema. A gateway
has no business doing so, so this takes the place of the SDK's session and dispatcher.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

import anyio
import structlog
from mcp.client._transport import TransportStreams
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, ServerMessageMetadata, SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from tools.upstream.errors import UpstreamError

FAREWELL_S = 5.0  # for telling the server that nobody waits for an answer any more
_NEVER_CANCELLED = frozenset({"initialize", "server/discover"})  # the protocol forbids it

log = structlog.get_logger(__name__)


class Receiver(Protocol):
    """Takes what a server sends of its own accord. Must return at once."""

    def take_request(self, request: JSONRPCRequest, *, related: RequestId | None) -> None:
        """Take a request; `related` is ours that it belongs to, where the transport can tell."""

    def take_notification(
        self, notification: JSONRPCNotification, *, related: RequestId | None
    ) -> None:
        """Take a notification."""


class Wire:
    """Sends requests and matches them with what comes back.

    Args:
        streams: The transport's two streams.

    Attributes:
        ended: Set when no request can be answered any more.
    """

    def __init__(self, streams: TransportStreams) -> None:
        self._incoming, self._outgoing = streams
        self.ended = asyncio.Event()
        self._last_id = 0
        self._waiting: dict[RequestId, asyncio.Future[dict[str, Any]]] = {}
        self._closed = False

    def new_id(self) -> int:
        """Return an id for the next request, never used before."""
        self._last_id += 1
        return self._last_id

    async def run(self, receiver: Receiver) -> None:
        """Receive until the stream ends."""
        try:
            async with self._incoming, self._outgoing:
                while True:
                    self._take(await self._incoming.receive(), receiver)
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            pass
        finally:
            self._close()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        request_id: RequestId | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request and return the `result` of its answer.

        Cancelling this tells the server.

        Args:
            method: The method.
            params: Its parameters; left out where there are none.
            request_id: A new one, if the caller needs to know it.
            headers: For a transport that has such a thing.

        Raises:
            MCPError: The server's error, or `CONNECTION_CLOSED`.
            UpstreamError: If the transport will not send it.
        """
        if self._closed:
            raise _closed()
        request_id = self.new_id() if request_id is None else request_id
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        request = JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method)
        if params:
            request.params = dict(params)
        try:
            await self._send(request, headers)
            return await answer
        except asyncio.CancelledError:
            await self._give_up(request, headers)
            raise
        finally:
            del self._waiting[request_id]
            if answer.done() and not answer.cancelled():
                answer.exception()  # seen, also where sending failed first

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a notification; one that can no longer be sent is dropped."""
        notification = JSONRPCNotification(jsonrpc="2.0", method=method)
        if params:
            notification.params = dict(params)
        await self._offer(notification, _metadata(headers))

    async def answer(
        self,
        request_id: RequestId,
        outcome: dict[str, Any] | ErrorData,
        *,
        related: RequestId | None,
    ) -> None:
        """Answer a request of the server's own; what can no longer be sent is dropped."""
        message: JSONRPCMessage
        if isinstance(outcome, ErrorData):
            message = JSONRPCError(jsonrpc="2.0", id=request_id, error=outcome)
        else:
            message = JSONRPCResponse(jsonrpc="2.0", id=request_id, result=outcome)
        await self._offer(message, ServerMessageMetadata(related_request_id=related))

    async def _send(self, message: JSONRPCMessage, headers: Mapping[str, str] | None) -> None:
        try:
            await self._outgoing.send(SessionMessage(message, _metadata(headers)))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise _closed() from None

    async def _offer(
        self,
        message: JSONRPCMessage,
        metadata: ClientMessageMetadata | ServerMessageMetadata | None,
    ) -> None:
        try:
            await self._outgoing.send(SessionMessage(message, metadata))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            log.debug("a message came too late to be sent")
        except UpstreamError as error:
            log.info("a message could not be sent", reason=str(error))

    async def _give_up(self, request: JSONRPCRequest, headers: Mapping[str, str] | None) -> None:
        """Tell the server that nobody waits any more. The write counts as begun."""
        if request.method in _NEVER_CANCELLED:
            return
        try:
            async with asyncio.timeout(FAREWELL_S):
                await self.notify(
                    "notifications/cancelled",
                    {"requestId": request.id, "reason": "nobody waits for it any more"},
                    headers=headers,
                )
        except TimeoutError:
            log.warning("a cancellation could not be sent in time")

    def _take(self, item: SessionMessage | Exception, receiver: Receiver) -> None:
        if isinstance(item, Exception):
            log.debug("the transport reports a fault", error=str(item))
            return
        message = item.message
        if isinstance(message, JSONRPCResponse):
            self._settle(message.id, message.result)
        elif isinstance(message, JSONRPCError):
            self._settle(message.id, message.error)
        elif isinstance(message, JSONRPCRequest):
            receiver.take_request(message, related=_related(item))
        else:
            receiver.take_notification(message, related=_related(item))

    def _settle(self, request_id: RequestId | None, outcome: dict[str, Any] | ErrorData) -> None:
        if request_id is None:
            return
        waiting = self._waiting.get(request_id)
        if waiting is None:  # some servers answer 7 with "7"
            waiting = self._waiting.get(coerce_request_id(request_id))
        if waiting is None or waiting.done():
            return
        if isinstance(outcome, ErrorData):
            waiting.set_exception(MCPError.from_error_data(outcome))
        else:
            waiting.set_result(outcome)

    def _close(self) -> None:
        self._closed = True
        self.ended.set()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(_closed())


def _closed() -> MCPError:
    return MCPError(CONNECTION_CLOSED, "Connection closed")


def _metadata(headers: Mapping[str, str] | None) -> ClientMessageMetadata | None:
    return ClientMessageMetadata(headers=dict(headers)) if headers else None


def _related(item: SessionMessage) -> RequestId | None:
    metadata = item.metadata
    return metadata.related_request_id if isinstance(metadata, ServerMessageMetadata) else None
