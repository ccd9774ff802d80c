"""Line streams of MCP over the claimed wire, cancellable in both directions.

The SDK's own streams read in a thread that only the next line ends, so that a signal would not
stop the server; and they buffer lines of any length.
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
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from gateway_project.foundation import json_pieces
from gateway_project.foundation.computing import run_in_message_thread
from gateway_project.foundation.json_pieces import LARGE_BYTES, TooManyValues
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.mcp import encoding, refused_lines
from gateway_project.mcp.first_answers import FirstAnswers
from gateway_project.mcp.refused_lines import MAX_LINE_BYTES, Line, LineTooLong
from gateway_project.mcp.wire import (
    ConversationReplay,
    ProtocolWire,
    is_replay_response,
    read_response_id,
)
from tools.upstream.lines import LineSplitter, OversizeLine

CHUNK_BYTES = 256 * 1024
DRAIN_TIMEOUT_S = 2.0
LOOP_TURNS = 20
"""More loop iterations than a message needs to pass through the SDK's streams."""
MAX_WAITING_LINES = 256
"""Lines read ahead of the server; a client that sends faster waits."""

log = logging.getLogger(__name__)


class LineSource(Protocol):
    """Yields the lines of a client as they arrive."""

    def __aiter__(self) -> AsyncIterator[Line]:
        """Return the iterator itself."""


class LineSink(Protocol):
    """Writes lines to a client."""

    async def write(self, line: bytes) -> None:
        """Write a line whole."""

    async def wait_until_idle(self) -> None:
        """Return when nothing is being written."""


@asynccontextmanager
async def open_wire_streams(
    wire: ProtocolWire,
    *,
    idle: Callable[[], Awaitable[None]],
    prelude: ConversationReplay | None = None,
    first: FirstAnswers | None = None,
) -> AsyncIterator[tuple[Any, Any]]:
    """Open a wire; yields the read and the write stream for the SDK's server.

    Args:
        wire: The claimed wire.
        idle: Returns when no request is being handled.
        prelude: State of the conversation, if something else has served the client so far.
        first: What has, and keeps the answers to requests like those; None: nothing does.
    """
    writer = LineWriter(wire.write_fd, resuming=prelude is not None, first=first)
    reader = LineReader(wire.read_fd, prelude=prelude, first=first)
    reader.start(asyncio.get_running_loop())
    async with open_streams(reader, writer, idle=idle) as pair:
        yield pair


@asynccontextmanager
async def open_streams(
    lines: LineSource, writer: LineSink, *, idle: Callable[[], Awaitable[None]]
) -> AsyncIterator[tuple[Any, Any]]:
    """Connect a client; yields the read and the write stream for the SDK's server.

    Args:
        lines: Lines from the client.
        writer: Writes lines to the client.
        idle: Returns when no request is being handled. The end of the input is passed on only
            then, or after `DRAIN_TIMEOUT_S`: a client that sends and closes still gets its
            answers.
    """

    async def drain() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_TIMEOUT_S):
                for wait in (idle, writer.wait_until_idle):
                    await _yield_to_loop()
                    await wait()

    async def lines_then_drain() -> AsyncIterator[Line]:
        async for line in lines:
            yield line
        await drain()

    # The SDK's own transport drops a line that it cannot parse, and its sender waits forever.
    incoming, received = anyio.create_memory_object_stream[SessionMessage](0)
    sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    async with TaskGroup() as group:
        group.create_task(
            _read_messages(lines_then_drain(), incoming, sent.clone()), name="read messages"
        )

        def answer_unsent(request: JSONRPCRequest) -> None:
            group.create_task(
                _forward_error(incoming, request.id),
                name="answer unsent request",
            )

        group.create_task(_write_messages(outgoing, writer, answer_unsent), name="write messages")
        yield received, sent


async def _read_messages(
    lines: AsyncIterator[Line],
    incoming: MemoryObjectSendStream[SessionMessage],
    refused: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Pass on the messages in lines and answer invalid lines."""
    async with incoming, refused:
        async for line in lines:
            if isinstance(line, LineTooLong):
                await refused.send(SessionMessage(refused_lines.answer_too_long(line)))
                continue
            message, error = await _read_line_safely(line)
            if message is not None and error is None:
                await incoming.send(SessionMessage(message))
            elif error is not None:
                log.info("answered an invalid message with an error")
                await refused.send(SessionMessage(error))


async def _read_line_safely(line: str) -> tuple[JSONRPCMessage | None, JSONRPCMessage | None]:
    """Return the message in a line or the error that answers it; never raises."""
    try:
        if len(line) > LARGE_BYTES:
            return await run_in_message_thread(_read_large_line, line)
        return _read_line(line)
    except Exception:
        log.exception("stdio.line_unreadable")
        return None, refused_lines.answer_reading_failed(line)


def _read_line(line: str) -> tuple[JSONRPCMessage | None, JSONRPCMessage | None]:
    """Return the message in a line or the error that answers it."""
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        return message, _find_wrong_id(message, line)
    except ValidationError as error:
        return None, refused_lines.answer_refused(line, error)


def _read_large_line(line: str) -> tuple[JSONRPCMessage | None, JSONRPCMessage | None]:
    """Read a large line like `_read_line`, in pieces."""
    try:
        value = json_pieces.parse_in_pieces(line.encode("utf-8", "replace"))
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
        return message, refused_lines.answer_wrong_id(message, value)
    except TooManyValues as error:
        return None, refused_lines.answer_too_many_values(line, error)
    except ValidationError as error:
        return None, refused_lines.answer_refused(line, error)
    except ValueError as error:
        return None, refused_lines.answer_unreadable(line, f"Invalid JSON: {error}")


def _find_wrong_id(message: JSONRPCMessage, line: str) -> JSONRPCError | None:
    if not isinstance(message, JSONRPCNotification):
        return None  # most lines; they are not parsed twice
    return refused_lines.answer_wrong_id(message, from_json(line))


async def _write_messages(
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    writer: LineSink,
    answer_unsent: Callable[[JSONRPCRequest], None],
) -> None:
    """Write messages; answers requests to the client that cannot be encoded."""
    async with outgoing:
        async for sent in outgoing:
            text = await encoding.write_message(sent.message)
            if text is not None:
                await writer.write(text + b"\n")
            elif isinstance(sent.message, JSONRPCRequest):
                answer_unsent(sent.message)


async def _forward_error(
    incoming: MemoryObjectSendStream[SessionMessage], request_id: RequestId
) -> None:
    """Fail an unsent request as if the client had answered, unless the input has ended."""
    error = JSONRPCError(jsonrpc="2.0", id=request_id, error=encoding.describe_unsent())
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await incoming.send(SessionMessage(error))


async def _yield_to_loop() -> None:
    """Let the loop run often enough for a message to pass through the streams."""
    for _ in range(LOOP_TURNS):
        await asyncio.sleep(0)


class LineReader:
    """Reads lines from a descriptor in a daemon thread, which shutdown does not wait for."""

    def __init__(
        self,
        descriptor: int,
        *,
        max_line_bytes: int = MAX_LINE_BYTES,
        prelude: ConversationReplay | None = None,
        first: FirstAnswers | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._prelude = prelude or ConversationReplay()
        self._first = first
        self._max_line_bytes = max_line_bytes
        self._waiting: deque[Line | None] = deque()
        self._arrived = asyncio.Event()
        self._free_slots = threading.Semaphore(MAX_WAITING_LINES)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the reading thread."""
        threading.Thread(target=self._run_reader, args=(loop,), name="stdin", daemon=True).start()

    def __aiter__(self) -> LineReader:
        return self

    async def __anext__(self) -> Line:
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        line = self._waiting[0]
        if line is None:  # kept, so that every further call sees the end
            raise StopAsyncIteration
        self._waiting.popleft()
        self._free_slots.release()
        return line

    def _run_reader(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            for line in self._iterate_lines():
                self._free_slots.acquire()
                loop.call_soon_threadsafe(self._deliver_line, line)
            loop.call_soon_threadsafe(self._deliver_line, None)
        except RuntimeError:  # the loop is closed: the server is gone
            log.debug("stdin reader stopped: event loop closed")

    def _deliver_line(self, line: Line | None) -> None:
        self._waiting.append(line)
        self._arrived.set()

    def _iterate_lines(self) -> Iterator[Line]:
        """Split the input into lines; yields `LineTooLong` for one that is dropped."""
        for replayed in self._prelude.lines:
            yield replayed.decode("utf-8", "replace")
        splitter = LineSplitter(max_bytes=self._max_line_bytes)
        for chunk in self._iterate_chunks():
            for line in splitter.feed(chunk):
                yield from self._decode_line(line)
        for line in splitter.close():
            yield from self._decode_line(line)

    def _iterate_chunks(self) -> Iterator[bytes]:
        if self._prelude.unsent:
            yield self._prelude.unsent
        while chunk := self._read_chunk():
            yield chunk

    def _decode_line(self, line: bytes | OversizeLine) -> Iterator[Line]:
        if isinstance(line, OversizeLine):
            if not line.ended:
                log.warning("dropped a message longer than %d bytes", self._max_line_bytes)
                yield LineTooLong(self._max_line_bytes)
            return
        if self._first is not None:
            self._first.note_input(line)
        # Codex on Windows, among others, begins with a byte order mark.
        if (text := line.decode("utf-8", "replace").removeprefix("\ufeff")).strip():
            yield text

    def _read_chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK_BYTES)
        except OSError:
            return b""


class LineWriter:
    """Writes lines to a descriptor without blocking the loop.

    A small message is written at once if the kernel accepts it without blocking; otherwise a
    thread writes it.
    """

    def __init__(
        self, descriptor: int, *, resuming: bool = False, first: FirstAnswers | None = None
    ) -> None:
        self._descriptor = descriptor
        self._resuming = resuming
        self._first = first
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._idle = asyncio.Event()
        self._idle.set()

    async def write(self, line: bytes) -> None:
        """Write a line whole.

        Raises:
            BrokenPipeError: If the client no longer listens.
        """
        if self._first is not None and self._first.is_following:
            line = await self._filter_line(line, self._first)
        if not line:
            return
        if self._resuming and is_replay_response(read_response_id(line)):
            return
        if len(line) <= select.PIPE_BUF and self._poll.poll(0):
            os.write(self._descriptor, line)
            return
        self._idle.clear()
        try:
            await asyncio.to_thread(self._write_all, line)
        finally:
            self._idle.set()

    async def wait_until_idle(self) -> None:
        """Return when nothing is being written."""
        await self._idle.wait()

    async def _filter_line(self, line: bytes, first: FirstAnswers) -> bytes:
        if len(line) <= select.PIPE_BUF:
            return first.filter_output(line)
        self._idle.clear()
        try:
            return await asyncio.to_thread(first.filter_output, line)
        finally:
            self._idle.set()

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
