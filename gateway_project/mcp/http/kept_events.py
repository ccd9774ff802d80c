"""Keeps the last events of a session, for a client whose connection broke during a request.

References:
    MCP 2025-11-25, Transports, Resumability and Redelivery.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gateway_project.foundation.shares import Bound, Shares

KEPT_BYTES: Final = Bound(total=64 * 1024 * 1024, each=16 * 1024 * 1024, fraction=0.5)
"""Of events of the process and of one user."""
KEPT_S: Final = 120.0
"""Seconds for which an event is kept."""
MAX_BEHIND: Final = 64
"""New events that may wait for a client to read; it can resume once more beyond it."""

kept_bytes = Shares(KEPT_BYTES)


class _KeptEvent(NamedTuple):
    stream: int
    number: int
    chunk: bytes
    expires_at: float


@dataclass
class _Stream:
    last: int = 0
    kept: int = 0
    has_ended: bool = False
    followers: list[Follower] = field(default_factory=list)


Follower = asyncio.Queue[bytes | None]
"""Events of a request as chunks of a response; None ends them."""


class KeptEvents:
    """The last events of one session; each request has a stream of them.

    Args:
        holder: Whose session it is.
    """

    def __init__(self, holder: str) -> None:
        self._holder = holder
        self._events: deque[_KeptEvent] = deque()
        self._streams: dict[int, _Stream] = {}
        self._opened = 0
        self._timer: asyncio.TimerHandle | None = None

    def open_stream(self) -> int:
        """Return the number of a new stream."""
        self._opened += 1
        self._streams[self._opened] = _Stream()
        return self._opened

    def add(self, stream: int, data: bytes, *, short: bytes = b"") -> bytes:
        """Keep an event, and return it as a chunk of a response.

        Args:
            stream: Its stream.
            data: Its data.
            short: Kept in its place if there is no room for it.
        """
        state = self._streams[stream]
        state.last += 1
        chunk = _format_event(stream, state.last, data)
        for follower in tuple(state.followers):
            is_behind = follower.qsize() == follower.maxsize - 1  # the last place is for the end
            follower.put_nowait(None if is_behind else chunk)
            if is_behind:
                state.followers.remove(follower)
        kept = chunk if self._make_room(len(chunk)) else b""
        if not kept and short:
            shorter = _format_event(stream, state.last, short)
            kept = shorter if self._make_room(len(shorter)) else b""
        if kept:
            expires_at = asyncio.get_running_loop().time() + KEPT_S
            self._events.append(_KeptEvent(stream, state.last, kept, expires_at))
            state.kept += 1
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_at(expires_at, self._expire)
        return chunk

    def end_stream(self, stream: int) -> None:
        """Note that a stream's request is answered."""
        state = self._streams[stream]
        state.has_ended = True
        for follower in state.followers:
            follower.put_nowait(None)
        state.followers.clear()
        self._forget_if_unused(stream)

    def follow(self, last_id: str) -> Follower | None:
        """Return the events that follow one of a request; None if there are none."""
        number, _, position = last_id.partition("-")
        if not (number.isascii() and number.isdigit() and position.isdigit()):
            return None
        stream = int(number)
        state = self._streams.get(stream)
        if state is None or int(position) > state.last:
            return None
        missed = [
            event.chunk
            for event in self._events
            if event.stream == stream and event.number > int(position)
        ]
        follower = Follower(len(missed) + MAX_BEHIND + 1)
        for chunk in missed:
            follower.put_nowait(chunk)
        if state.has_ended:
            follower.put_nowait(None)
        else:
            state.followers.append(follower)
        return follower

    def _make_room(self, size: int) -> bool:
        """Take room for an event, and forget older ones of the session if need be."""
        while not kept_bytes.take(self._holder, size):
            if not self._events:
                return False
            self._forget_oldest()
        return True

    def _expire(self) -> None:
        """Forget what has been kept for long enough, now and later."""
        loop = asyncio.get_running_loop()
        while self._events and self._events[0].expires_at <= loop.time():
            self._forget_oldest()
        self._timer = (
            loop.call_at(self._events[0].expires_at, self._expire) if self._events else None
        )

    def _forget_oldest(self) -> None:
        event = self._events.popleft()
        kept_bytes.give_back(self._holder, len(event.chunk))
        self._streams[event.stream].kept -= 1
        self._forget_if_unused(event.stream)

    def _forget_if_unused(self, stream: int) -> None:
        """Forget a stream that has ended and of which no event is kept."""
        state = self._streams[stream]
        if state.has_ended and not state.kept:
            del self._streams[stream]


def _format_event(stream: int, number: int, data: bytes) -> bytes:
    name = b"event: message\r\n" if data else b""
    return b"id: %d-%d\r\n%bdata: %b\r\n\r\n" % (stream, number, name, data)
