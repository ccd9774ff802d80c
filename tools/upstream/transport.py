"""What all transports to an upstream server have in common."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping

from mcp_types import JSONRPCMessage, RequestId
from pydantic_core import PydanticSerializationError

from gateway_project.foundation import json_pieces, json_size
from gateway_project.foundation.computing import run_in_message_thread
from tools.upstream.errors import MessageTooLarge, UnsendableRequest, UpstreamError
from tools.upstream.output import ConnectionOrigin
from tools.upstream.wire import Wire


class UpstreamTransport(ABC):
    """Carries the messages of one run of a server, or of one session with it.

    A context manager: entering starts the server or the session, leaving ends it.

    Args:
        origin: Name, secrets, limits and last output of the server.

    Attributes:
        origin: As above.
        wire: Requests and answers; messages from the server are handed to it.
        ended: Set once no answer can arrive any more.
        fault: Why it ended; None while it is open, or if there is no other reason than its end.
    """

    def __init__(self, origin: ConnectionOrigin) -> None:
        self.origin = origin
        self.wire = Wire(origin, self.send)
        self.ended = asyncio.Event()
        self.fault: UpstreamError | None = None

    @abstractmethod
    async def __aenter__(self) -> None:
        """Start the server or the session.

        Raises:
            UpstreamError: If it cannot be started.
        """

    @abstractmethod
    async def __aexit__(self, *_: object) -> None:
        """End the server or the session, even if this task is being cancelled."""

    @abstractmethod
    async def send(
        self,
        message: JSONRPCMessage,
        *,
        headers: Mapping[str, str],
        related: RequestId | None = None,
    ) -> None:
        """Send a message; see `SendMessage`."""

    @property
    def pid(self) -> int | None:
        """Process id of the server; None if it has no local process."""
        return None

    @property
    def unsent_bytes(self) -> int:
        """Bytes written that the server has not read yet."""
        return 0

    @property
    def failure_summary(self) -> str:
        """The part of the server's output that explains a failure, in one line, or empty."""
        return ""

    async def encode(self, message: JSONRPCMessage) -> bytes:
        """Return a message as JSON in UTF-8, a large one encoded in a worker thread.

        Raises:
            UnsendableRequest: If it is nested too deeply or contains an unpaired surrogate.
            MessageTooLarge: If it is too long. Nothing was sent in either case.
        """
        server, max_bytes = self.origin.server, self.origin.limits.max_line_bytes
        if json_size.is_large_to_write(json_size.collect_set_members(message)):
            return await run_in_message_thread(
                _encode_inline, message, server=server, max_bytes=max_bytes, is_large=True
            )
        return _encode_inline(message, server=server, max_bytes=max_bytes)

    async def wait_for_room(self) -> None:  # noqa: B027 - some always have room
        """Wait, first come first served, until the transport has room for a request.

        A caller that sends without another await in between keeps its turn. Also returns when the
        transport has ended.
        """

    @property
    @abstractmethod
    def has_ended_cleanly(self) -> bool:
        """Whether the server ended voluntarily, not by a failure."""

    @abstractmethod
    def make_end_error(self, *, while_doing: str) -> UpstreamError:
        """Return the error for work interrupted by its end."""


def _encode_inline(
    message: JSONRPCMessage, *, server: str, max_bytes: int, is_large: bool = False
) -> bytes:
    """Return a message as JSON; `is_large`: in pieces, for use in a worker thread."""
    try:
        if is_large:
            text = json_pieces.encode_in_pieces(json_size.collect_set_members(message))
        else:
            text = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise UnsendableRequest(server, why=str(error).rpartition("Error: ")[2]) from None
    if len(text) > max_bytes:
        raise MessageTooLarge(
            server=server, what="the request", limit_bytes=max_bytes, is_unsent=True
        )
    return text
