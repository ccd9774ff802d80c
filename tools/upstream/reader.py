"""From a server's raw stdout to messages, with everything unusable accounted for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCResponse,
)

from gateway_project.foundation import sealing
from tools.upstream.errors import MessageTooLarge, ProtocolViolation, UpstreamError
from tools.upstream.flood import Flood
from tools.upstream.lines import LineSplitter, Oversize
from tools.upstream.origin import Origin
from tools.upstream.outstanding import Outstanding, RequestId
from tools.upstream.parse import TooDeep, read_message
from tools.upstream.salvage import Finding, examine, examine_ends
from tools.upstream.stderr import printable
from tools.upstream.streams import Inbox

SHOWN_CHARACTERS = 200  # of an unusable line, in the log
LOGGED_PER_S, LOGGED_BURST = 0.2, 5  # unusable lines

# Nobody here listens to any other notification.
HEEDED = frozenset(
    {
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    }
)

_NO_MESSAGE = "sent an answer that is not valid JSON-RPC in UTF-8; update or repair the server"

log = structlog.get_logger(__name__)


class MessageReader:
    """Puts valid messages into the inbox; makes calls fail whose answer cannot be used.

    Args:
        origin: Whose output it is.
        inbox: Where messages go.
        outstanding: Requests that wait for an answer.
        condemn: Called once when the server sends nothing but rubbish and must be stopped.

    Attributes:
        wasted_bytes: Of lines that were no message, and of messages beyond the limit.
    """

    def __init__(
        self,
        origin: Origin,
        *,
        inbox: Inbox,
        outstanding: Outstanding,
        condemn: Callable[[UpstreamError], None],
    ) -> None:
        limits, monotonic = origin.limits, origin.monotonic
        self._server = origin.server
        self._secrets = origin.secrets
        self._limits = limits
        self._inbox = inbox
        self._outstanding = outstanding
        self._condemn = condemn
        self._lines = LineSplitter(max_bytes=limits.max_line_bytes)
        self._unasked = Flood(
            per_s=limits.messages_per_s, burst=limits.messages_burst, monotonic=monotonic
        )
        self._logged = Flood(per_s=LOGGED_PER_S, burst=LOGGED_BURST, monotonic=monotonic)
        self._bad_lines = 0
        self._bytes_since_message = 0
        self.wasted_bytes = 0

    @property
    def dropped(self) -> int:
        """Lines that were no message, and messages beyond the limit."""
        return self._bad_lines + self._unasked.refused

    def feed(self, chunk: bytes) -> None:
        """Take what arrived."""
        self._bytes_since_message += len(chunk)
        self._take(self._lines.feed(chunk))
        if self._bytes_since_message > self._limits.max_rubbish_bytes:
            self._condemn(
                ProtocolViolation(
                    f"was stopped after {self._bytes_since_message:,} bytes without a valid "
                    "message; its stdout must carry nothing but MCP",
                    server=self._server,
                )
            )

    def close(self) -> None:
        """Take the last line, which may lack its newline."""
        self._take(self._lines.close())

    def _take(self, lines: Iterable[bytes | Oversize]) -> None:
        for line in lines:
            if isinstance(line, Oversize):
                self.oversize(line)
            elif line and not line.isspace():
                self._line(line)

    def _line(self, line: bytes) -> None:
        try:
            message = read_message(line)
        except TooDeep as error:
            self._unusable(line, f"sent an answer that {error}; ask it for less")
        except ValueError:
            self._unusable(line, _NO_MESSAGE)
        else:
            self._bytes_since_message = 0
            self._message(message, len(line))

    def _message(self, message: JSONRPCMessage, size: int) -> None:
        if isinstance(message, JSONRPCResponse):
            self._response(message, size)
        elif isinstance(message, JSONRPCError):
            # An error without an id is about a request the server could not read.
            message.id = self._outstanding.owner(message.id)
            self._response(message, size)
        elif not self._unasked.admits():
            self.wasted_bytes += size
        elif hasattr(message, "id") or message.method in HEEDED:
            self._inbox.put(SessionMessage(message))

    def _response(self, message: JSONRPCResponse | JSONRPCError, size: int) -> None:
        method = self._outstanding.answered(message.id)
        cap = self._limits.max_result_bytes
        is_page = method is None or method.endswith("/list")  # which has limits of its own
        if message.id is not None and not is_page and size > cap:
            self._answer(message.id, self._too_large("the result", cap))
        else:
            self._inbox.put(SessionMessage(message))

    def oversize(self, line: Oversize) -> None:
        """Let the call fail whose answer is too long."""
        error = self._too_large("its answer", self._limits.max_line_bytes)
        finding = examine_ends(line.head, line.tail)
        if line.ended:
            self._bad_lines += 1
            self._log("server sent a line beyond the limit", line.head, size=line.size)
            # By now only its own id may say whose answer it was: others may be waiting.
            if finding.request_id is not None:
                self._fail(finding, error)
        elif finding.kind == "text":
            # Too long for a stray print, so it may be an answer that lost its beginning.
            self._fail(Finding(kind="answer"), error)
        else:
            self._fail(finding, error)

    def _unusable(self, line: bytes, problem: str) -> None:
        self._bad_lines += 1
        self.wasted_bytes += len(line)
        self._log("server sent a line that is no message", line, size=len(line))
        self._fail(examine(line), ProtocolViolation(problem, server=self._server))

    def _fail(self, finding: Finding, error: UpstreamError) -> None:
        """Let the call fail that a bad line was the answer to."""
        if finding.kind != "answer":
            return
        owner = self._outstanding.owner(finding.request_id)
        if owner is not None:
            self._outstanding.answered(owner)
            self._answer(owner, error)

    def _answer(self, request_id: RequestId, error: UpstreamError) -> None:
        # The error itself rides along as data, which nothing that comes over a wire can be.
        body = ErrorData(code=INTERNAL_ERROR, message=str(error), data=error)
        self._inbox.put(SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=body)))

    def _too_large(self, what: str, cap: int) -> MessageTooLarge:
        return MessageTooLarge(server=self._server, what=what, limit_bytes=cap)

    def _log(self, event: str, line: bytes, *, size: int) -> None:
        if self._logged.admits():
            text = line[: 4 * SHOWN_CHARACTERS].decode(errors="replace")
            shown = printable(sealing.redact(text, self._secrets))[:SHOWN_CHARACTERS]
            log.warning(event, server=self._server, bytes=size, text=shown)
