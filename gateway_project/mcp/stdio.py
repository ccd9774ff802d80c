"""MCP over the claimed wire: lines in, lines out, both cancellable.

The SDK's own streams read in a thread that only the next line can end, so that a signal would
not stop the server; and they buffer a line of any length.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from gateway_project.mcp import encoding, refused_lines
from gateway_project.mcp.conversation import Prelude, is_repeated, response_id
from gateway_project.mcp.refused_lines import MAX_LINE_BYTES, Line, TooLong
from gateway_project.mcp.wire import Wire

CHUNK_BYTES = 256 * 1024
DRAIN_S = 2.0
TURNS = 20
"""More than a message takes through the SDK's streams."""
MAX_WAITING_LINES = 256
"""Lines read ahead of the server; a client that sends faster waits."""

log = logging.getLogger(__name__)


class Lines(Protocol):
    """Lines of a client, as they come."""

    def __aiter__(self) -> AsyncIterator[Line]:
        """Return the iterator itself."""


class Writer(Protocol):
    """Takes lines for a client."""

    async def write(self, text: str) -> None:
        """Write a text whole."""

    async def idle(self) -> None:
        """Return when nothing is being written."""


@asynccontextmanager
async def streams(
    wire: Wire, *, idle: Callable[[], Awaitable[None]], prelude: Prelude | None = None
) -> AsyncIterator[tuple[Any, Any]]:
    """Serve messages over a wire; yields the read and the write stream of the SDK's server.

    Args:
        wire: Where messages come from and go to.
        idle: Returns when no request is being handled.
        prelude: Where the client is, if another gateway has served it so far.
    """
    writer = LineWriter(wire.write_fd, resuming=prelude is not None)
    reader = LineReader(wire.read_fd, prelude=prelude)
    reader.start(asyncio.get_running_loop())
    async with joined(reader, writer, idle=idle) as pair:
        yield pair


@asynccontextmanager
async def joined(
    lines: Lines, writer: Writer, *, idle: Callable[[], Awaitable[None]]
) -> AsyncIterator[tuple[Any, Any]]:
    """Serve messages of a client; yields the read and the write stream of the SDK's server.

    Args:
        lines: What the client sends.
        writer: Where it listens.
        idle: Returns when no request is being handled. The end of the input is passed on only
            then, or after `DRAIN_S`: a client that sends and closes still gets its answers.
    """

    async def drain() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                for wait in (idle, writer.idle):
                    await _let_others_run()
                    await wait()

    async def drained() -> AsyncIterator[Line]:
        async for line in lines:
            yield line
        await drain()

    # The SDK's own transport drops a line that it cannot read, and its sender waits for ever.
    incoming, received = anyio.create_memory_object_stream[SessionMessage](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with asyncio.TaskGroup() as group:
        group.create_task(_read(drained(), incoming, sent.clone()), name="read messages")

        def not_asked(request: JSONRPCRequest) -> None:
            group.create_task(_tell(incoming, encoding.not_asked(request)), name="tell asker")

        group.create_task(_write(outgoing, writer, not_asked), name="write messages")
        yield received, sent


async def _read(
    lines: AsyncIterator[Line],
    incoming: MemoryObjectSendStream[SessionMessage],
    refused: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Hand on the messages in lines, and answer those that hold none."""
    async with incoming, refused:
        async for line in lines:
            if isinstance(line, TooLong):
                await refused.send(SessionMessage(refused_lines.too_long(line)))
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                wrong = _wrong_id(message, line)
            except ValidationError as error:
                wrong = refused_lines.refusal(line, error)
            if wrong is None:
                await incoming.send(SessionMessage(message))
            else:
                log.info("answered a line that is no message")
                await refused.send(SessionMessage(wrong))


def _wrong_id(message: JSONRPCMessage, line: str) -> JSONRPCError | None:
    if not isinstance(message, JSONRPCNotification):
        return None  # most lines, and none of them is parsed twice
    return refused_lines.wrong_id(message, from_json(line))


async def _write(
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    writer: Writer,
    not_asked: Callable[[JSONRPCRequest], None],
) -> None:
    """Write messages; who asks the client something that cannot be written is told so."""
    async with outgoing:
        async for sent in outgoing:
            text = encoding.message_text(sent.message)
            if text is not None:
                await writer.write(f"{text.decode()}\n")
            elif isinstance(sent.message, JSONRPCRequest):
                not_asked(sent.message)


async def _tell(incoming: MemoryObjectSendStream[SessionMessage], error: JSONRPCError) -> None:
    """Hand on an error as if the client had answered with it, unless the input has ended."""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await incoming.send(SessionMessage(error))


async def _let_others_run() -> None:
    """Give a message the turns of the loop that it takes from one end to the other."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


class LineReader:
    """Lines of a descriptor, read by a daemon thread that nothing waits for at the end."""

    def __init__(
        self,
        descriptor: int,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
        prelude: Prelude | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._prelude = prelude or Prelude()
        self._max_line_bytes = max_line_bytes
        self._waiting: deque[Line | None] = deque()
        self._arrived = asyncio.Event()
        self._room = threading.Semaphore(MAX_WAITING_LINES)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, args=(loop,), name="stdin", daemon=True).start()

    def __aiter__(self) -> LineReader:
        return self

    async def __anext__(self) -> Line:
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        line = self._waiting[0]
        if line is None:  # stays, so that the end is seen however often it is asked for
            raise StopAsyncIteration
        self._waiting.popleft()
        self._room.release()
        return line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            for line in self._lines():
                self._room.acquire()
                loop.call_soon_threadsafe(self._deliver, line)
            loop.call_soon_threadsafe(self._deliver, None)
        except RuntimeError:  # the loop is closed: the server is gone
            log.debug("stdin is read no more")

    def _deliver(self, line: Line | None) -> None:
        self._waiting.append(line)
        self._arrived.set()

    def _lines(self) -> Iterator[Line]:
        """Split what is read into lines; one that is too long is dropped, and that is told."""
        for line in self._prelude.lines:
            yield line.decode("utf-8", "replace")
        pending = bytearray(self._prelude.unsent)
        dropping = False
        while chunk := self._chunk():
            *ends, rest = chunk.split(b"\n")
            for piece in ends:
                pending += piece
                if not dropping:
                    yield from self._line(pending)
                pending, dropping = bytearray(), False
            pending += rest
            if not dropping and len(pending) > self._max_line_bytes:
                dropping = True
                yield self._dropped()
            if dropping:
                pending.clear()
        if not dropping:
            yield from self._line(pending)

    def _line(self, line: bytearray) -> Iterator[Line]:
        if len(line) > self._max_line_bytes:
            yield self._dropped()
        elif line.strip():
            yield line.decode("utf-8", "replace")

    def _dropped(self) -> TooLong:
        log.warning("dropped a message longer than %d bytes", self._max_line_bytes)
        return TooLong(self._max_line_bytes)

    def _chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except OSError:
            return b""


class LineWriter:
    """A descriptor written to without holding up the loop.

    A small message goes out at once where the kernel takes it without waiting; otherwise a thread
    writes and waits.
    """

    def __init__(self, descriptor: int, *, resuming: bool = False) -> None:
        self._descriptor = descriptor
        self._resuming = resuming
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._idle = asyncio.Event()
        self._idle.set()

    async def write(self, text: str) -> None:
        """Write a text whole.

        Raises:
            BrokenPipeError: If the client listens no more.
        """
        data = text.encode("utf-8", "replace")
        if self._resuming and is_repeated(response_id(data)):
            return
        if len(data) <= select.PIPE_BUF and self._poll.poll(0):
            os.write(self._descriptor, data)
            return
        self._idle.clear()
        try:
            await asyncio.to_thread(self._write_all, data)
        finally:
            self._idle.set()

    async def idle(self) -> None:
        """Return when nothing is being written."""
        await self._idle.wait()

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
