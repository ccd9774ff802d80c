"""Reads response bodies and event streams, bounded in memory and in the time between yields."""

from __future__ import annotations

import asyncio

import aiohttp

from tools.upstream.errors import ProtocolViolation
from tools.upstream.http.events import EventParser, ServerSentEvent
from tools.upstream.output import ConnectionOrigin

SLICE_BYTES = 16 * 1024
YIELD_BYTES = 128 * 1024  # read in a row before yielding to other tasks
# A large body is read at no more than 100 MB/s, which leaves gaps for other tasks.
LARGE_BYTES, GAP_S = 1024 * 1024, 0.001

SETTLE_S, SETTLE_BYTES = 1.0, 64 * 1024  # for data after the answer on its stream

# A flooding server is read at about 0.8 MB/s in smaller pieces, which leaves most CPU time for the
# others; the rest waits in the socket buffers as backpressure.
WASTE_BYTES, WASTE_PAUSE_S, WASTE_SLICE_BYTES = 16 * 1024, 0.02, 4 * 1024


class BodyTooLong(Exception):
    """A body is longer than the cap; the rest was not read."""


async def read_body(answer: aiohttp.ClientResponse, *, max_bytes: int) -> bytes:
    """Read a whole body, decompressed in slices.

    Args:
        answer: The response.
        max_bytes: Maximum length after decompression.

    Raises:
        BodyTooLong: As soon as it is known to be longer; the connection is closed.
        aiohttp.ClientError: If it is truncated or cannot be decoded.
    """
    declared = answer.content_length
    if declared is not None and declared > max_bytes:
        answer.close()
        raise BodyTooLong
    stream = answer.content
    first = await stream.read(SLICE_BYTES)
    if stream.at_eof() and len(first) <= max_bytes:
        return first
    body, since_yield = bytearray(first), 0
    while len(body) <= max_bytes:
        piece = await stream.read(SLICE_BYTES)
        if not piece:
            return bytes(body)
        body += piece
        since_yield += len(piece)
        if since_yield >= YIELD_BYTES:
            since_yield = 0
            # Decompression alone never awaits the peer.
            await asyncio.sleep(GAP_S if len(body) > LARGE_BYTES else 0)
    answer.close()
    raise BodyTooLong


async def drain_answer(answer: aiohttp.ClientResponse) -> None:
    """Read the rest of a stream after its answer, so that its connection can be reused."""
    try:
        async with asyncio.timeout(SETTLE_S):
            left = SETTLE_BYTES
            while left > 0 and (piece := await answer.content.read(left)):
                left -= len(piece)
    except (TimeoutError, aiohttp.ClientError):
        pass
    finally:
        if answer.content.at_eof():
            answer.release()
        else:
            answer.close()


def is_stream(answer: aiohttp.ClientResponse) -> bool:
    """Whether a response is a stream of events."""
    return answer.headers.get("Content-Type", "").lower().startswith("text/event-stream")


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
