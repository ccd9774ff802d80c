"""Where what a remote server sends unasked is counted, limited and handed on."""

from __future__ import annotations

import asyncio

import structlog
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from gateway_project.foundation import sealing
from tools.upstream.flood import Flood
from tools.upstream.origin import Origin
from tools.upstream.reader import HEEDED, LOGGED_BURST, LOGGED_PER_S, SHOWN_CHARACTERS
from tools.upstream.stderr import printable
from tools.upstream.streams import Inbox

log = structlog.get_logger(__name__)


class Intake:
    """The way of messages into the inbox.

    Args:
        origin: Whose messages they are.

    Attributes:
        inbox: Where messages go.
        flowing: Cleared while nothing may be read from the server.
    """

    def __init__(self, origin: Origin) -> None:
        limits, monotonic = origin.limits, origin.monotonic
        self._origin = origin
        self._unasked = Flood(
            per_s=limits.messages_per_s, burst=limits.messages_burst, monotonic=monotonic
        )
        self._logged = Flood(per_s=LOGGED_PER_S, burst=LOGGED_BURST, monotonic=monotonic)
        self._unusable = 0
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.inbox = Inbox(pause=self.flowing.clear, resume=self.flowing.set)

    @property
    def dropped(self) -> int:
        """Messages that were unusable or beyond the limit."""
        return self._unusable + self._unasked.refused

    def end(self) -> None:
        """Let nobody wait any more."""
        self.inbox.end()
        self.flowing.set()

    def answer(self, message: JSONRPCResponse | JSONRPCError) -> None:
        """Hand on the answer to a request."""
        self.inbox.put(SessionMessage(message))

    def unasked(
        self, message: JSONRPCRequest | JSONRPCNotification, *, during: RequestId | None
    ) -> bool:
        """Hand on a request or notification of the server, if it is heeded and not too much.

        Args:
            message: The message.
            during: Our request on whose stream it came, None on a stream of its own.

        Returns:
            Whether it was handed on.
        """
        if not self._unasked.admits():
            return False
        if isinstance(message, JSONRPCRequest) or message.method in HEEDED:
            metadata = None if during is None else ServerMessageMetadata(during)
            self.inbox.put(SessionMessage(message, metadata))
        return True

    def unusable(self, text: bytes) -> None:
        """Count, and now and then log, what is no message that belongs where it came."""
        self._unusable += 1
        if self._logged.admits():
            start = text[: 4 * SHOWN_CHARACTERS].decode(errors="replace")
            shown = printable(sealing.redact(start, self._origin.secrets))[:SHOWN_CHARACTERS]
            log.warning(
                "server sent something that is no message",
                server=self._origin.server,
                bytes=len(text),
                text=shown,
            )
