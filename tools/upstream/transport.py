"""What the supervision of a server needs of the way it is reached."""

from __future__ import annotations

import asyncio
from typing import Protocol

from mcp.client import Transport

from tools.upstream.errors import UpstreamError


class UpstreamTransport(Transport, Protocol):
    """The SDK's transport (a context manager that yields its two streams), and how it fares.

    Stdio is one; another way to reach a server needs nothing but this. Headers of a request stand
    in its `ClientMessageMetadata`. A message of the server that came on the stream of one of our
    requests says so by `ServerMessageMetadata.related_request_id`, and so does our answer to it. A
    request the transport itself cannot carry out is answered with a `JSONRPCError` whose data is
    an `UpstreamError`; an HTTP status without a message, with one that has none.
    """

    @property
    def ended(self) -> asyncio.Event:
        """Set as soon as no answer can come any more."""
        ...

    async def room(self) -> None:
        """Wait, first come first served, until the server has read enough to be sent a request.

        Whoever sends without waiting for anything else after this is the next to do so. Also
        returns when it has ended.
        """
        ...

    @property
    def unsent_bytes(self) -> int:
        """Bytes that wait for the server to read its input."""
        ...

    @property
    def pid(self) -> int | None:
        """Process behind it, None where there is none."""
        ...

    @property
    def messages_dropped(self) -> int:
        """Messages of the server that were unusable or too many."""
        ...

    @property
    def last_words(self) -> str:
        """Last line the server said beside the protocol, empty where it said nothing."""
        ...

    @property
    def ended_well(self) -> bool:
        """Whether the end was the server's own free will and not a failure."""
        ...

    def why_ended(self, *, while_doing: str) -> UpstreamError:
        """Return the error for what was under way when it ended."""
        ...
