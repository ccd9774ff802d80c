"""The message streams of a transport, without a task in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Self

import anyio
from mcp.shared.message import SessionMessage

HIGH_WATER = 1_000  # queued messages at which reading pauses
LOW_WATER = 100
FAIR_SHARE = 64  # messages received in a row before yielding to other tasks


class MessageInbox:
    """Queue of messages from a server, with backpressure.

    Args:
        pause: Called when the queue reaches `HIGH_WATER`.
        resume: Called when it has shrunk to `LOW_WATER`.
    """

    def __init__(self, *, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._messages: deque[SessionMessage | Exception] = deque()
        self._arrived = asyncio.Event()
        self._paused = False
        self._ended = False
        self._closed = False
        self._taken_in_a_row = 0

    def put(self, message: SessionMessage) -> None:
        """Add a message; never blocks."""
        if self._closed or self._ended:
            return
        self._messages.append(message)
        self._arrived.set()
        if len(self._messages) >= HIGH_WATER and not self._paused:
            self._paused = True
            self._pause()

    def end(self) -> None:
        """End the stream after the messages already queued."""
        self._ended = True
        self._arrived.set()

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: After the last one.
            anyio.ClosedResourceError: If the receiver closed the stream.
        """
        await self._yield_to_others()
        while not self._messages:
            if self._closed:
                raise anyio.ClosedResourceError
            if self._ended:
                raise anyio.EndOfStream
            self._arrived.clear()
            await self._arrived.wait()
        if self._paused and len(self._messages) <= LOW_WATER:
            self._paused = False
            self._resume()
        return self._messages.popleft()

    async def _yield_to_others(self) -> None:
        self._taken_in_a_row = self._taken_in_a_row + 1 if self._messages else 0
        if self._taken_in_a_row >= FAIR_SHARE:
            self._taken_in_a_row = 0
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        """Close the stream and drop the queued messages."""
        self._closed = True
        self._messages.clear()
        self._arrived.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class MessageOutbox:
    """Stream of messages to a server.

    Args:
        send: Queues one message; the transport limits the queue.
    """

    def __init__(self, send: Callable[[SessionMessage], Awaitable[None]]) -> None:
        self._send = send
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message.

        Raises:
            anyio.ClosedResourceError: If the stream was closed.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        await self._send(item)

    async def aclose(self) -> None:
        """Close the stream."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
