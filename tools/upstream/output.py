"""What a server writes beside the protocol, bounded and redacted, and the run that it is of."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import structlog

from gateway_project.foundation.redaction import Redactor
from gateway_project.foundation.text import shorten
from tools.upstream.limits import UpstreamLimits
from tools.upstream.lines import LineSplitter, OversizeLine

MAX_LINES = 200
MAX_TAIL_BYTES = 64 * 1024
MAX_LINE_LENGTH = 1_000
"""Characters shown of each line."""

# Terminal escapes first, then every other control character and the invisible direction marks.
_UNPRINTABLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)

SLACK_BYTES = 2_000
"""Read beyond the shown part of a line, so that a secret is not cut before it is recognised."""

log = structlog.get_logger(__name__)


class OutputTail:
    """Keeps the last raw lines; decodes and redacts them when they are read."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._size = 0

    def add(self, line: bytes) -> None:
        """Add a line; the oldest lines are dropped beyond the limits."""
        self._lines.append(line)
        self._size += len(line)
        while len(self._lines) > MAX_LINES or (
            self._size > MAX_TAIL_BYTES and len(self._lines) > 1
        ):
            self._size -= len(self._lines.popleft())

    def read_lines(self, redactor: Redactor) -> tuple[str, ...]:
        """Return the non-empty lines, cleaned for display, oldest first."""
        shown = (clean_line(line, redactor) for line in self._lines)
        return tuple(shorten(text, MAX_LINE_LENGTH) for text in shown if text)


def clean_line(line: bytes, redactor: Redactor) -> str:
    """Return a line of output without secrets and invisible characters.

    Redacted twice: a stripped character may be part of a secret, or may hide one.
    """
    text = redactor.redact(line.decode(errors="replace"))
    return redactor.redact(strip_unprintable(text)).strip()


def strip_unprintable(text: str) -> str:
    r"""Strip terminal escapes, control and invisible characters.

    Example:
        >>> strip_unprintable("\x1b[31mred\x1b[0m\ttea")
        'redtea'
    """
    return _UNPRINTABLE.sub("", text)


class FloodGuard:
    """Limits the rate of messages, and counts the refused ones.

    Args:
        per_s: Sustained messages per second.
        burst: Messages at once.
        monotonic: Clock in seconds.

    Attributes:
        refused: Messages refused so far.

    Example:
        >>> guard = FloodGuard(per_s=1.0, burst=2, monotonic=lambda: 0.0)
        >>> [guard.try_acquire() for _ in range(3)], guard.refused
        ([True, True, False], 1)
    """

    def __init__(self, *, per_s: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._monotonic = monotonic
        self._tokens = float(burst)
        self._at = monotonic()
        self.refused = 0

    def try_acquire(self) -> bool:
        """Take a token if available; return whether one was."""
        now = self._monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_s)
        self._at = now
        if self._tokens < 1.0:
            self.refused += 1
            return False
        self._tokens -= 1.0
        return True


@dataclass(frozen=True, kw_only=True)
class ConnectionOrigin:
    """One run of a server, as its readers need to know it.

    Attributes:
        server: Name for errors and logs.
        redactor: Removes its secrets wherever its output is shown.
        tail: Its last output outside the protocol.
        limits: Caps on what it may send.
        monotonic: Clock in seconds.
    """

    server: str
    redactor: Redactor = field(default_factory=Redactor, repr=False)
    tail: OutputTail = field(default_factory=OutputTail, repr=False)
    limits: UpstreamLimits = field(default_factory=UpstreamLimits)
    monotonic: Callable[[], float] = time.monotonic

    @property
    def last_lines(self) -> tuple[str, ...]:
        """Its last output outside the protocol, oldest line first, redacted."""
        return self.tail.read_lines(self.redactor)


class StderrLog:
    """Logs a server's stderr: rate-limited, cut to length, redacted.

    Args:
        origin: The server; its tail records every line.
    """

    def __init__(self, origin: ConnectionOrigin) -> None:
        limits = origin.limits
        self._origin = origin
        self._max_bytes = limits.stderr_line_bytes
        self._splitter = LineSplitter(max_bytes=limits.stderr_line_bytes + SLACK_BYTES)
        self._flood = FloodGuard(
            per_s=limits.stderr_lines_per_s,
            burst=limits.stderr_lines_burst,
            monotonic=origin.monotonic,
        )
        self._unlogged = 0

    def feed(self, chunk: bytes) -> None:
        """Process bytes received."""
        self._handle_lines(self._splitter.feed(chunk))

    def close(self) -> None:
        """Process the last line, and log how many lines were suppressed."""
        self._handle_lines(self._splitter.close())
        if self._unlogged:
            log.info("server.stderr_suppressed", server=self._origin.server, lines=self._unlogged)
            self._unlogged = 0

    def _handle_lines(self, lines: Iterable[bytes | OversizeLine]) -> None:
        for line in lines:
            if isinstance(line, bytes):
                self._log_line(line)
            elif not line.ended:
                self._log_line(line.head[: self._max_bytes + SLACK_BYTES])

    def _log_line(self, line: bytes) -> None:
        if not line.strip():
            return
        self._origin.tail.add(line)
        if not self._flood.try_acquire():
            self._unlogged += 1
            return
        text = clean_line(line, self._origin.redactor)
        if not text:
            return
        unlogged, self._unlogged = self._unlogged, 0
        more = {"unlogged_before": unlogged} if unlogged else {}
        suffix = "…" if len(text) > self._max_bytes else ""
        shown = text[: self._max_bytes] + suffix
        log.info("server.stderr", server=self._origin.server, text=shown, **more)
