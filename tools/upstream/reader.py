"""Parses a server's raw output into messages, and accounts for everything unusable."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import structlog
from mcp_types import PARSE_ERROR, JSONRPCError, JSONRPCMessage, JSONRPCResponse

from gateway_project.foundation.json_pieces import LARGE_BYTES, TooManyValues
from tools.upstream.errors import (
    MessageTooLarge,
    ProtocolViolation,
    UpstreamError,
)
from tools.upstream.lines import LineSplitter, OversizeLine
from tools.upstream.parse import (
    BadLine,
    NamelessResult,
    examine_ends,
    examine_line,
    make_unreadable_error,
    read_message,
    receive_message,
)
from tools.upstream.wire import Wire

_UNREADABLE = "sent an answer that the gateway failed to read; see the gateway's log"

log = structlog.get_logger(__name__)


class MessageReader:
    """Hands valid messages to the wire, and fails the calls whose answers are unusable.

    Args:
        wire: Receives the messages, and knows the requests not answered yet.
        on_fatal: Called with the reason when the server must be stopped.
        on_busy: Called when parsing a large message begins; input should pause.
        on_read: Called when it has been parsed.

    Attributes:
        wasted_bytes: Bytes of lines that were not messages and of messages over the rate limit.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        on_fatal: Callable[[UpstreamError], None],
        on_busy: Callable[[], None] = lambda: None,
        on_read: Callable[[], None] = lambda: None,
    ) -> None:
        self._wire = wire
        self._server = wire.origin.server
        self._limits = wire.origin.limits
        self._on_fatal = on_fatal
        self._on_busy, self._on_read = on_busy, on_read
        self._later: deque[bytes | OversizeLine] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._lines = LineSplitter(max_bytes=self._limits.max_line_bytes)
        self._bytes_since_message = 0
        self.wasted_bytes = 0

    def feed(self, chunk: bytes) -> None:
        """Process bytes received."""
        self._bytes_since_message += len(chunk)
        self._handle_lines(self._lines.feed(chunk))
        if self._bytes_since_message > self._limits.max_rubbish_bytes:
            self._on_fatal(
                ProtocolViolation(
                    f"was stopped after {self._bytes_since_message:,} bytes without a valid "
                    "message; its stdout must carry nothing but MCP",
                    server=self._server,
                )
            )

    def close(self) -> None:
        """Process the last line, which may lack its newline."""
        self._handle_lines(self._lines.close())

    async def wait_until_drained(self) -> None:
        """Wait until all input received has been processed."""
        if self._reading is not None:
            await asyncio.wait({self._reading})

    def call_when_drained(self, callback: Callable[[], None]) -> None:
        """Call `callback` once all input received has been processed, possibly now."""
        if self._reading is None:
            callback()
        else:
            self._reading.add_done_callback(lambda _: callback())

    def _handle_lines(self, lines: Iterable[bytes | OversizeLine]) -> None:
        for line in lines:
            if self._reading is not None or self._later or _is_slow_to_read(line):  # in order
                self._later.append(line)
            else:
                self._handle_line(line)
        if self._later and self._reading is None:
            self._on_busy()
            self._reading = asyncio.get_running_loop().create_task(self._read_later())

    def _handle_line(self, line: bytes | OversizeLine) -> None:
        if isinstance(line, OversizeLine):
            self.handle_oversize(line)
        elif line and not line.isspace():
            message = None
            with self._fail_if_unread(line):
                message = read_message(line)
            if message is not None:
                self._deliver(message, len(line))

    async def _read_later(self) -> None:
        """Process the queued lines, parsing large messages in a worker thread."""
        try:
            while self._later:
                line = self._later.popleft()
                if isinstance(line, bytes) and _is_slow_to_read(line):
                    await self._handle_large_line(line)
                else:
                    self._handle_line(line)
        except Exception:
            log.exception("server.reader_crashed", server=self._server)
            self._later.clear()
            self._on_fatal(
                ProtocolViolation(
                    "was stopped because the gateway failed to handle what it sent; see the "
                    "gateway's log",
                    server=self._server,
                )
            )
        finally:
            self._reading = None
            self._on_read()

    async def _handle_large_line(self, line: bytes) -> None:
        message = None
        with self._fail_if_unread(line):
            message = await receive_message(line)
        if message is not None:
            self._deliver(message, len(line))

    @contextmanager
    def _fail_if_unread(self, line: bytes) -> Iterator[None]:
        """Fail the call whose answer cannot be parsed, whatever the reason."""
        try:
            yield
        except ValueError as error:
            if isinstance(error, NamelessResult) and self._wire.claim_notification():
                return
            if not isinstance(error, TooManyValues):  # which may well be an answer
                self.wasted_bytes += len(line)
            self._handle_unusable(line, make_unreadable_error(error, server=self._server))
        except Exception:
            log.exception("server.message_unreadable", server=self._server)
            self.wasted_bytes += len(line)
            self._handle_unusable(line, ProtocolViolation(_UNREADABLE, server=self._server))

    def _deliver(self, message: JSONRPCMessage, size: int) -> None:
        self._bytes_since_message = 0
        if isinstance(message, JSONRPCError) and message.id is None:
            if message.error.code != PARSE_ERROR and self._wire.claim_notification():
                return
            # An error without an id is about a request the server could not read.
            message.id = self._wire.find_owner(None)
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._deliver_response(message, size)
        elif not self._wire.receive(message):
            self.wasted_bytes += size

    def _deliver_response(self, message: JSONRPCResponse | JSONRPCError, size: int) -> None:
        method = self._wire.find_method(message.id)
        cap = self._limits.max_result_bytes
        is_page = method is None or method.endswith("/list")  # listings have their own limits
        if message.id is not None and not is_page and size > cap:
            self._wire.fail(message.id, self._make_too_large_error("the result", cap))
        else:
            self._wire.receive(message)

    def handle_oversize(self, line: OversizeLine) -> None:
        """Fail the call whose answer is too long."""
        error = self._make_too_large_error("its answer", self._limits.max_line_bytes)
        finding = examine_ends(line.head, line.tail)
        if line.ended:
            self._wire.count_unusable(line.head, size=line.size)
            # By now other requests may be outstanding, so only an explicit id counts.
            if finding.request_id is not None:
                self._fail_call(finding, error)
        elif finding.kind == "text":
            # Too long for a stray print; it may be an answer that lost its beginning.
            self._fail_call(BadLine(kind="answer"), error)
        else:
            self._fail_call(finding, error)

    def _handle_unusable(self, line: bytes, error: UpstreamError) -> None:
        self._wire.count_unusable(line)
        self._fail_call(examine_line(line), error)

    def _fail_call(self, finding: BadLine, error: UpstreamError) -> None:
        """Fail the call that a bad line was the answer to."""
        owner = self._wire.find_owner(finding.request_id) if finding.kind == "answer" else None
        if owner is not None:
            self._wire.fail(owner, error)

    def _make_too_large_error(self, what: str, cap: int) -> MessageTooLarge:
        return MessageTooLarge(server=self._server, what=what, limit_bytes=cap)


def _is_slow_to_read(line: bytes | OversizeLine) -> bool:
    """Whether a line is large and may be a message; other lines are rejected quickly."""
    return isinstance(line, bytes) and len(line) > LARGE_BYTES and line[:64].lstrip()[:1] == b"{"
