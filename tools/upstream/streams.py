"""The two ends the SDK reads from and writes to, without a task in between."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage

HIGH_WATER = 1_000  # messages waiting to be dispatched before reading is paused
LOW_WATER = 100
FAIR_SHARE = 64  # messages taken in a row before other tasks get a turn


class Inbox:
    """Messages from a server, for the SDK's dispatcher.

    Args:
        pause: Called when messages come faster than they are taken.
        resume: Called when they have been taken.
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
        """Let the reader see the end once it has taken what is there."""
        self._ended = True
        self._arrived.set()

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            anyio.EndOfStream: After the last one.
            anyio.ClosedResourceError: If the stream was closed by the reader itself.
        """
        await self._take_turns()
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

    async def _take_turns(self) -> None:
        self._taken_in_a_row = self._taken_in_a_row + 1 if self._messages else 0
        if self._taken_in_a_row >= FAIR_SHARE:
            self._taken_in_a_row = 0
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        """Stop reading; what is left is dropped."""
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

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class Outbox:
    """Messages to a server, from the SDK's dispatcher.

    Args:
        send: Queues one message; what waits too long is the transport's to limit.
    """

    def __init__(self, send: Callable[[SessionMessage], None]) -> None:
        self._send = send
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message.

        Raises:
            anyio.ClosedResourceError: If the stream was closed.
        """
        if self._closed:
            raise anyio.ClosedResourceError
        self._send(item)

    async def aclose(self) -> None:
        """Write no more."""
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
