"""The interface of a transport to an upstream server."""

from __future__ import annotations

import asyncio
from typing import Protocol

from mcp.client import Transport

from tools.upstream.errors import UpstreamError
from tools.upstream.origin import ConnectionOrigin


class UpstreamTransport(Transport, Protocol):
    """The SDK's transport (a context manager that yields its two streams) with its state.

    The headers of a request are in its `ClientMessageMetadata`. A server's message that arrived
    on the stream of one of our requests names it in `ServerMessageMetadata.related_request_id`,
    and so does our answer to it. A request that the transport cannot execute is answered with a
    `JSONRPCError` whose data is an `UpstreamError`.
    """

    @property
    def origin(self) -> ConnectionOrigin:
        """Redactor, limits and last output of the server."""
        ...

    @property
    def ended(self) -> asyncio.Event:
        """Set once no answer can arrive any more."""
        ...

    async def wait_for_room(self) -> None:
        """Wait, first come first served, until the transport has room for a request.

        A caller that sends without another await in between keeps its turn. Also returns when the
        transport has ended.
        """
        ...

    @property
    def unsent_bytes(self) -> int:
        """Bytes written that the server has not read yet."""
        ...

    @property
    def pid(self) -> int | None:
        """Process id of the server; None if it has no local process."""
        ...

    @property
    def messages_dropped(self) -> int:
        """Messages from the server that were unusable or over the rate limit."""
        ...

    @property
    def failure_summary(self) -> str:
        """The part of the server's output that explains a failure, in one line, or empty."""
        ...

    @property
    def has_ended_cleanly(self) -> bool:
        """Whether the server ended voluntarily, not by a failure."""
        ...

    def make_end_error(self, *, while_doing: str) -> UpstreamError:
        """Return the error for work interrupted by its end."""
        ...
