"""Delivers a remote server's messages, and counts and limits the unsolicited ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from tools.upstream.flood_guard import FloodGuard
from tools.upstream.lines import KEPT_EDGE_BYTES
from tools.upstream.origin import ConnectionOrigin
from tools.upstream.output_tail import clean_line
from tools.upstream.reader import (
    HANDLED_NOTIFICATIONS,
    LOGGED_BURST,
    LOGGED_PER_S,
    MAX_SHOWN_CHARS,
)
from tools.upstream.streams import MessageInbox

log = structlog.get_logger(__name__)


class MessageIntake:
    """Puts messages into the inbox, with rate limit and backpressure.

    Args:
        origin: The server.

    Attributes:
        inbox: Receives the messages.
        flowing: Cleared while reading from the server is paused.
        is_listening: Whether the server's stream of unsolicited messages is open.
    """

    def __init__(self, origin: ConnectionOrigin) -> None:
        limits, monotonic = origin.limits, origin.monotonic
        self._origin = origin
        self._unsolicited = FloodGuard(
            per_s=limits.messages_per_s, burst=limits.messages_burst, monotonic=monotonic
        )
        self._logged = FloodGuard(per_s=LOGGED_PER_S, burst=LOGGED_BURST, monotonic=monotonic)
        self._unusable = 0
        self._expected: dict[str, asyncio.Event] = {}
        self.is_listening = False
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.inbox = MessageInbox(pause=self.flowing.clear, resume=self.flowing.set)

    @property
    def dropped(self) -> int:
        """Messages that were unusable or over the rate limit."""
        return self._unusable + self._unsolicited.refused

    def end(self) -> None:
        """End the inbox and release all waiting readers."""
        self.inbox.end()
        self.flowing.set()

    def deliver_answer(self, message: JSONRPCResponse | JSONRPCError) -> None:
        """Deliver the answer to a request."""
        self.inbox.put(SessionMessage(message))

    @contextmanager
    def expect_answer(self, request_id: RequestId) -> Iterator[asyncio.Event]:
        """Take the answer to a request from the listening stream, too; the event tells of it."""
        arrived = self._expected[str(request_id)] = asyncio.Event()
        try:
            yield arrived
        finally:
            del self._expected[str(request_id)]

    def deliver_expected(self, message: JSONRPCResponse | JSONRPCError) -> bool:
        """Deliver an answer from the listening stream; False if no request expects it."""
        arrived = self._expected.get(str(message.id))
        if arrived is None or arrived.is_set():
            return False
        self.deliver_answer(message)
        arrived.set()
        return True

    def deliver_unsolicited(
        self, message: JSONRPCRequest | JSONRPCNotification, *, during: RequestId | None
    ) -> bool:
        """Deliver a request or notification from the server, if handled and within the limit.

        Args:
            message: The message.
            during: Our request on whose stream it arrived; None on the listening stream.

        Returns:
            Whether it was within the rate limit.
        """
        if not self._unsolicited.try_acquire():
            return False
        if isinstance(message, JSONRPCRequest) or message.method in HANDLED_NOTIFICATIONS:
            metadata = None if during is None else ServerMessageMetadata(during)
            self.inbox.put(SessionMessage(message, metadata))
        return True

    def count_unusable(self, text: bytes) -> None:
        """Count an invalid or misplaced message, and log it at a limited rate."""
        self._unusable += 1
        start = text[:KEPT_EDGE_BYTES]
        self._origin.tail.add(start)
        if self._logged.try_acquire():
            shown = clean_line(start, self._origin.redactor)[:MAX_SHOWN_CHARS]
            log.warning(
                "server.unusable_message",
                server=self._origin.server,
                bytes=len(text),
                text=shown,
            )
