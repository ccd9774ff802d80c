"""Reads an event stream, slowing down for useless data."""

from __future__ import annotations

import asyncio

import aiohttp

from tools.upstream.errors import ProtocolViolation
from tools.upstream.http.body import SLICE_BYTES, YIELD_BYTES
from tools.upstream.http.events import EventParser, ServerSentEvent
from tools.upstream.origin import ConnectionOrigin

# A flooding server is read at about 0.8 MB/s in smaller pieces, which leaves most CPU time for the
# others; the rest waits in the socket buffers as backpressure.
WASTE_BYTES, WASTE_PAUSE_S, WASTE_SLICE_BYTES = 16 * 1024, 0.02, 4 * 1024


class EventStream:
    """The events of one response, in batches.

    Args:
        answer: The response, of type text/event-stream.
        origin: The server; its limits say after how many bytes without an event the stream is
            abandoned.
        max_event_bytes: Longest event.

    Attributes:
        events: Events received so far.
    """

    def __init__(
        self,
        answer: aiohttp.ClientResponse,
        *,
        origin: ConnectionOrigin,
        max_event_bytes: int,
    ) -> None:
        self._content = answer.content
        self._server = origin.server
        self._max_rubbish_bytes = origin.limits.max_rubbish_bytes
        self._parser = EventParser(max_bytes=max_event_bytes)
        self._forgiven = 0
        self._wasted = 0
        self._since_yield = 0
        self._since_event = 0
        self.events = 0

    @property
    def last_id(self) -> str:
        """Id of the last event that had one, or empty."""
        return self._parser.last_id

    @property
    def retry_s(self) -> float | None:
        """Reconnection delay requested by the server, in seconds, or None."""
        return None if self._parser.retry_ms is None else self._parser.retry_ms / 1000

    def count_waste(self, size: int) -> None:
        """Count the bytes of a useless event."""
        self._wasted += size

    async def next(self) -> list[ServerSentEvent] | None:
        """Return the next batch of events; None at the end.

        Raises:
            ProtocolViolation: If there were too many bytes without an event.
            aiohttp.ClientError: If the stream is truncated or cannot be decoded.
        """
        while True:
            await self._yield_to_others()
            is_waste = self._waste_bytes() >= WASTE_SLICE_BYTES
            piece = await self._content.read(WASTE_SLICE_BYTES if is_waste else SLICE_BYTES)
            if not piece:
                return None
            self._since_yield += len(piece)
            self._since_event += len(piece)
            if events := self._parser.feed(piece):
                self._since_event = 0
                self.events += len(events)
                return events
            if self._rubbish_bytes() > self._max_rubbish_bytes:
                raise ProtocolViolation(
                    f"sent {self._since_event:,} bytes on a stream without a message; repair or "
                    "update the server",
                    server=self._server,
                )

    def _rubbish_bytes(self) -> int:
        """Return the bytes since the last event that cannot belong to one."""
        return min(self._since_event, self._parser.wasted)

    def _waste_bytes(self) -> int:
        """Return the useless bytes since the last pause for them."""
        return self._wasted + self._parser.wasted - self._forgiven

    async def _yield_to_others(self) -> None:
        if self._waste_bytes() >= WASTE_BYTES:
            self._forgiven += self._waste_bytes()
            self._since_yield = 0
            await asyncio.sleep(WASTE_PAUSE_S)
        elif self._since_yield >= YIELD_BYTES:
            self._since_yield = 0
            await asyncio.sleep(0)
