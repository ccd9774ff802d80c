"""Sends requests and matches responses over a transport's two streams, exactly as on the wire.

Replaces the SDK's session and dispatcher, which parse a result into models: that drops unknown
fields, refuses nonconforming results, and checks structured content against the output schema. A
gateway must do none of these.
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

from gateway_project.foundation.redaction import Redactor
from tools.upstream.errors import UpstreamError

CANCEL_TIMEOUT_S = 5.0  # to send the server a cancellation
_NEVER_CANCELLED = frozenset({"initialize", "server/discover"})  # the protocol forbids it

log = structlog.get_logger(__name__)


class MessageReceiver(Protocol):
    """Handles unsolicited messages from a server. Must not block."""

    def handle_request(self, request: JSONRPCRequest, *, related: RequestId | None) -> None:
        """Handle a request; `related` is the id of our request it belongs to, if known."""

    def handle_notification(
        self, notification: JSONRPCNotification, *, related: RequestId | None
    ) -> None:
        """Handle a notification."""


class RequestDispatcher:
    """Sends requests and matches them with their responses.

    Args:
        streams: The transport's two streams.
        redactor: Removes the server's secrets from its errors; results stay unchanged.

    Attributes:
        ended: Set once no request can be answered any more.
    """

    def __init__(self, streams: TransportStreams, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._incoming, self._outgoing = streams
        self.ended = asyncio.Event()
        self._last_id = 0
        self._waiting: dict[RequestId, asyncio.Future[dict[str, Any]]] = {}
        self._closed = False

    def new_id(self) -> int:
        """Return a fresh request id."""
        self._last_id += 1
        return self._last_id

    async def run(self, receiver: MessageReceiver) -> None:
        """Receive until the stream ends."""
        try:
            async with self._incoming, self._outgoing:
                while True:
                    self._handle_item(await self._incoming.receive(), receiver)
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            pass
        finally:
            self._fail_waiting()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        request_id: RequestId | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request and return the `result` of its response.

        Cancelling this coroutine cancels the request at the server.

        Args:
            method: Method name.
            params: Parameters; omitted from the message if empty.
            request_id: From `new_id`, if the caller needs to know it in advance.
            headers: Headers for HTTP transports.

        Raises:
            MCPError: The server's error, or `CONNECTION_CLOSED`.
            UpstreamError: If the transport refuses to send it.
        """
        if self._closed:
            raise _make_closed_error()
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
            await self._cancel_request(request, headers)
            raise
        finally:
            del self._waiting[request_id]
            if answer.done() and not answer.cancelled():
                answer.exception()  # marks it retrieved, even if sending failed first

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a notification, or drop it if the connection has closed."""
        notification = JSONRPCNotification(jsonrpc="2.0", method=method)
        if params:
            notification.params = dict(params)
        await self._send_or_drop(notification, _make_metadata(headers))

    async def send_answer(
        self,
        request_id: RequestId,
        outcome: dict[str, Any] | ErrorData,
        *,
        related: RequestId | None,
    ) -> None:
        """Answer a request from the server, or drop the answer if the connection has closed."""
        message: JSONRPCMessage
        if isinstance(outcome, ErrorData):
            message = JSONRPCError(jsonrpc="2.0", id=request_id, error=outcome)
        else:
            message = JSONRPCResponse(jsonrpc="2.0", id=request_id, result=outcome)
        await self._send_or_drop(message, ServerMessageMetadata(related_request_id=related))

    async def _send(self, message: JSONRPCMessage, headers: Mapping[str, str] | None) -> None:
        try:
            await self._outgoing.send(SessionMessage(message, _make_metadata(headers)))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise _make_closed_error() from None

    async def _send_or_drop(
        self,
        message: JSONRPCMessage,
        metadata: ClientMessageMetadata | ServerMessageMetadata | None,
    ) -> None:
        try:
            await self._outgoing.send(SessionMessage(message, metadata))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            log.debug("server.message_after_close")
        except UpstreamError as error:
            log.info("server.message_not_sent", reason=str(error))

    async def _cancel_request(
        self, request: JSONRPCRequest, headers: Mapping[str, str] | None
    ) -> None:
        """Send the server a cancellation of a request that may have been sent."""
        if request.method in _NEVER_CANCELLED:
            return
        try:
            async with asyncio.timeout(CANCEL_TIMEOUT_S):
                await self.notify(
                    "notifications/cancelled",
                    {"requestId": request.id, "reason": "nothing waits for it any more"},
                    headers=headers,
                )
        except TimeoutError:
            log.warning("server.cancellation_timed_out")

    def _handle_item(self, item: SessionMessage | Exception, receiver: MessageReceiver) -> None:
        if isinstance(item, Exception):
            log.debug("server.transport_fault", error=str(item))
            return
        message = item.message
        if isinstance(message, JSONRPCResponse):
            self._resolve_request(message.id, message.result)
        elif isinstance(message, JSONRPCError):
            self._resolve_request(message.id, self._redact_error(message.error))
        elif isinstance(message, JSONRPCRequest):
            receiver.handle_request(message, related=_related_request_id(item))
        else:
            receiver.handle_notification(message, related=_related_request_id(item))

    def _redact_error(self, error: ErrorData) -> ErrorData:
        """Return a server's error without its secrets, safe to show or log."""
        if isinstance(error.data, UpstreamError):
            return error  # made by our own transport
        return ErrorData(
            code=error.code,
            message=self._redactor.redact(error.message),
            data=self._redactor.redact_json(error.data),
        )

    def _resolve_request(
        self, request_id: RequestId | None, outcome: dict[str, Any] | ErrorData
    ) -> None:
        if request_id is None:
            return
        waiting = self._waiting.get(request_id)
        if waiting is None:  # some servers turn the id 7 into "7"
            waiting = self._waiting.get(coerce_request_id(request_id))
        if waiting is None or waiting.done():
            return
        if isinstance(outcome, ErrorData):
            waiting.set_exception(MCPError.from_error_data(outcome))
        else:
            waiting.set_result(outcome)

    def _fail_waiting(self) -> None:
        self._closed = True
        self.ended.set()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(_make_closed_error())


def _make_closed_error() -> MCPError:
    return MCPError(CONNECTION_CLOSED, "Connection closed")


def _make_metadata(headers: Mapping[str, str] | None) -> ClientMessageMetadata | None:
    return ClientMessageMetadata(headers=dict(headers)) if headers else None


def _related_request_id(item: SessionMessage) -> RequestId | None:
    metadata = item.metadata
    return metadata.related_request_id if isinstance(metadata, ServerMessageMetadata) else None
