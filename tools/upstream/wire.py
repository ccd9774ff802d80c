"""Sends requests over a transport and matches responses with them, exactly as on the wire.

Replaces the SDK's session and dispatcher, which parse a result into models: that drops unknown
fields, refuses nonconforming results, and checks structured content against the output schema. A
gateway must do none of these.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import structlog
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.exceptions import MCPError
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
from tools.upstream.lines import KEPT_EDGE_BYTES
from tools.upstream.output import ConnectionOrigin, FloodGuard, clean_line

CANCEL_TIMEOUT_S = 5.0  # to send the server a cancellation
MAX_SHOWN_CHARS = 200  # of an unusable message, in the log
LOGGED_PER_S, LOGGED_BURST = 0.2, 5  # unusable messages
_NEVER_CANCELLED = frozenset({"initialize", "server/discover"})  # the protocol forbids it
# Answered when a subscription ends, or never: a broken line is not their answer.
_OPEN_ENDED = frozenset({"subscriptions/listen", "server/discover"})
_HANDLED_NOTIFICATIONS = frozenset(
    {
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    }
)

log = structlog.get_logger(__name__)


class TransportClosed(Exception):
    """A message was not sent: the transport has ended, or has no room for it."""


class SendMessage(Protocol):
    """Sends one message over a transport."""

    async def __call__(
        self,
        message: JSONRPCMessage,
        *,
        headers: Mapping[str, str],
        related: RequestId | None = None,
    ) -> None:
        """Send the message.

        Args:
            message: The message.
            headers: Its headers over HTTP.
            related: Our request on whose stream the request it answers arrived.

        Raises:
            TransportClosed: If it cannot be sent any more.
            UpstreamError: If it cannot be sent, or the request fails.
        """


class MessageReceiver(Protocol):
    """Handles unsolicited messages from a server. Must not block."""

    def handle_request(self, request: JSONRPCRequest, *, related: RequestId | None) -> None:
        """Handle a request; `related` is the id of our request it belongs to, if known."""

    def handle_notification(
        self, notification: JSONRPCNotification, *, related: RequestId | None
    ) -> None:
        """Handle a notification."""


class _SentRequest(NamedTuple):
    method: str
    answer: asyncio.Future[dict[str, Any]]
    notifications: int  # sent before it


class Wire:
    """The requests to a server that await their answers, and all that it sends.

    Args:
        origin: Name, secrets, limits and clock of the server.
        send: Sends a message over the transport.

    Attributes:
        origin: As above.
        ended: Set once no request can be answered any more.
    """

    def __init__(self, origin: ConnectionOrigin, send: SendMessage) -> None:
        limits, monotonic = origin.limits, origin.monotonic
        self.origin = origin
        self.ended = asyncio.Event()
        self._transmit = send
        self._receiver: MessageReceiver | None = None
        self._early: list[tuple[JSONRPCMessage, RequestId | None]] = []
        self._last_id = 0
        self._sent: dict[RequestId, _SentRequest] = {}
        self._notifications = self._read_notifications = 0
        self._closed = False
        self._unsolicited = FloodGuard(
            per_s=limits.messages_per_s, burst=limits.messages_burst, monotonic=monotonic
        )
        self._logged = FloodGuard(per_s=LOGGED_PER_S, burst=LOGGED_BURST, monotonic=monotonic)
        self._unusable = 0

    @property
    def dropped(self) -> int:
        """Messages from the server that were unusable or over the rate limit."""
        return self._unusable + self._unsolicited.refused

    def new_id(self) -> int:
        """Return a fresh request id."""
        self._last_id += 1
        return self._last_id

    def attach(self, receiver: MessageReceiver) -> None:
        """Hand over unsolicited messages from now on, first those that were early."""
        self._receiver = receiver
        early, self._early = self._early, []
        for message, related in early:
            self._hand_over(receiver, message, related)

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
            UpstreamError: If it cannot be sent, or its answer cannot be used.
        """
        if self._closed:
            raise _make_closed_error()
        request_id = self.new_id() if request_id is None else request_id
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._sent[request_id] = _SentRequest(method, answer, self._notifications)
        request = JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method)
        if params:
            request.params = dict(params)
        try:
            await self._transmit(request, headers=headers or {})
            return await answer
        except TransportClosed:
            raise _make_closed_error() from None
        except asyncio.CancelledError:
            self._sent.pop(request_id, None)
            await self._cancel_request(request, headers)
            raise
        finally:
            self._sent.pop(request_id, None)
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
        self._notifications += 1
        await self._send_or_drop(notification, headers=headers or {})

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
        await self._send_or_drop(message, headers={}, related=related)

    def receive(self, message: JSONRPCMessage, *, related: RequestId | None = None) -> bool:
        """Take a message from the server.

        Args:
            message: The message.
            related: Our request on whose stream it arrived, if known.

        Returns:
            Whether somebody waits for it: False for an answer to no request, and for a message
            over the rate limit.
        """
        if isinstance(message, JSONRPCResponse):
            return self._resolve(message.id, message.result)
        if isinstance(message, JSONRPCError):
            return self._resolve(message.id, self._read_error(message.error))
        if self._closed:  # those who would act on it are ending
            return True
        if not self._unsolicited.try_acquire():
            return False
        if isinstance(message, JSONRPCRequest) or message.method in _HANDLED_NOTIFICATIONS:
            if self._receiver is None:
                self._early.append((message, related))
            else:
                self._hand_over(self._receiver, message, related)
        return True

    def fail(self, request_id: RequestId, error: UpstreamError) -> None:
        """Fail a request whose answer cannot be used."""
        self._resolve(request_id, error)

    def find_method(self, request_id: RequestId | None) -> str | None:
        """Return the method of a request that awaits its answer; None for any other id."""
        sent = self._find(request_id)
        return None if sent is None else sent.method

    def find_owner(self, request_id: RequestId | None) -> RequestId | None:
        """Return the request that an unusable answer belongs to.

        Without an id, an answer belongs to the only outstanding request, if there is just one.
        """
        if request_id is not None:
            return None if self._find(request_id) is None else coerce_request_id(request_id)
        waiting = [key for key, sent in self._sent.items() if sent.method not in _OPEN_ENDED]
        return waiting[0] if len(waiting) == 1 else None

    def claim_notification(self) -> bool:
        """Whether an answer without an id may be one to a notification, as some servers send.

        Such an answer precedes those to all that was sent after the notification.
        """
        if self._read_notifications >= self._notifications:
            return False
        self._read_notifications += 1
        return True

    def count_unusable(self, text: bytes, *, size: int | None = None) -> None:
        """Count an invalid or misplaced message, and log its start at a limited rate."""
        self._unusable += 1
        start = text[:KEPT_EDGE_BYTES]
        self.origin.tail.add(start)
        if self._logged.try_acquire():
            log.warning(
                "server.unusable_message",
                server=self.origin.server,
                bytes=len(text) if size is None else size,
                text=clean_line(start, self.origin.redactor)[:MAX_SHOWN_CHARS],
            )

    def end(self) -> None:
        """Fail all requests that still wait, and all to come."""
        self._closed = True
        self.ended.set()
        for request_id in list(self._sent):
            self._resolve(request_id, _make_closed_error())

    async def _send_or_drop(
        self,
        message: JSONRPCMessage,
        *,
        headers: Mapping[str, str],
        related: RequestId | None = None,
    ) -> None:
        if self._closed:
            return
        try:
            await self._transmit(message, headers=headers, related=related)
        except TransportClosed:
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

    def _find(self, request_id: RequestId | None) -> _SentRequest | None:
        # Some servers turn the id 7 into "7".
        return None if request_id is None else self._sent.get(coerce_request_id(request_id))

    def _resolve(
        self, request_id: RequestId | None, outcome: dict[str, Any] | MCPError | UpstreamError
    ) -> bool:
        sent = self._find(request_id)
        if sent is None or request_id is None:
            return False
        del self._sent[coerce_request_id(request_id)]
        self._read_notifications = max(self._read_notifications, sent.notifications)
        if not sent.answer.done():
            if isinstance(outcome, dict):
                sent.answer.set_result(outcome)
            else:
                sent.answer.set_exception(outcome)
        return True

    def _read_error(self, error: ErrorData) -> MCPError:
        """Return a server's error without its secrets, safe to show or log."""
        redactor = self.origin.redactor
        return MCPError(
            error.code, redactor.redact(error.message), redactor.redact_json(error.data)
        )

    @staticmethod
    def _hand_over(
        receiver: MessageReceiver, message: JSONRPCMessage, related: RequestId | None
    ) -> None:
        if isinstance(message, JSONRPCRequest):
            receiver.handle_request(message, related=related)
        elif isinstance(message, JSONRPCNotification):
            receiver.handle_notification(message, related=related)


def _make_closed_error() -> MCPError:
    return MCPError(CONNECTION_CLOSED, "Connection closed")
