"""An event stream of a server, read no faster than it deserves."""

from __future__ import annotations

import asyncio

import aiohttp

from tools.upstream.errors import ProtocolViolation
from tools.upstream.http.body import SLICE_BYTES, YIELD_BYTES
from tools.upstream.http.events import Event, EventParser

# Whoever floods is read at some 0.8 MB/s and in smaller pieces, which leaves most of the processor
# to the others; the rest waits in the sockets' buffers, where the server feels it.
WASTE_BYTES, WASTE_PAUSE_S, WASTE_SLICE_BYTES = 16 * 1024, 0.02, 4 * 1024


class EventStream:
    """Events of one answer, a few at a time.

    Args:
        answer: The answer, of type text/event-stream.
        server: Whose it is, for errors.
        max_event_bytes: Longest event.
        max_rubbish_bytes: Bytes without an event after which the stream is given up.
        flowing: Cleared while nothing may be read.
    """

    def __init__(
        self,
        answer: aiohttp.ClientResponse,
        *,
        server: str,
        max_event_bytes: int,
        max_rubbish_bytes: int,
        flowing: asyncio.Event,
    ) -> None:
        self._content = answer.content
        self._server = server
        self._max_rubbish_bytes = max_rubbish_bytes
        self._flowing = flowing
        self._parser = EventParser(max_bytes=max_event_bytes)
        self._forgiven = 0
        self._wasted = 0
        self._since_yield = 0
        self._since_event = 0
        self.events = 0

    @property
    def last_id(self) -> str:
        """Id of the last event that had one."""
        return self._parser.last_id

    @property
    def retry_s(self) -> float | None:
        """Seconds to wait before connecting again, if the server said so."""
        return None if self._parser.retry_ms is None else self._parser.retry_ms / 1000

    def wasted(self, size: int) -> None:
        """Note that an event was of no use."""
        self._wasted += size

    async def next(self) -> list[Event] | None:
        """Return the events that arrived next, None at the end.

        Raises:
            ProtocolViolation: If there is nothing but rubbish.
            aiohttp.ClientError: If the stream is cut off or cannot be decoded.
        """
        while True:
            await self._take_turns()
            is_waste = self._waste() >= WASTE_SLICE_BYTES
            piece = await self._content.read(WASTE_SLICE_BYTES if is_waste else SLICE_BYTES)
            if not piece:
                return None
            self._since_yield += len(piece)
            self._since_event += len(piece)
            if events := self._parser.feed(piece):
                self._since_event = 0
                self.events += len(events)
                return events
            if self._rubbish() > self._max_rubbish_bytes:
                raise ProtocolViolation(
                    f"sent {self._since_event:,} bytes on a stream without a message; repair or "
                    "update the server",
                    server=self._server,
                )

    def _rubbish(self) -> int:
        """Bytes since the last event that cannot become part of one."""
        return min(self._since_event, self._parser.wasted)

    def _waste(self) -> int:
        """Bytes of no use since it was last paused for them."""
        return self._wasted + self._parser.wasted - self._forgiven

    async def _take_turns(self) -> None:
        if not self._flowing.is_set():
            await self._flowing.wait()
        if self._waste() >= WASTE_BYTES:
            self._forgiven += self._waste()
            self._since_yield = 0
            await asyncio.sleep(WASTE_PAUSE_S)
        elif self._since_yield >= YIELD_BYTES:
            self._since_yield = 0
            await asyncio.sleep(0)
