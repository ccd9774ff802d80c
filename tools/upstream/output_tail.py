"""A server's last output outside the protocol: stderr, and stray lines on stdout."""

from __future__ import annotations

import re
from collections import deque

from gateway_project.foundation.redaction import Redactor
from gateway_project.foundation.text import shorten

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
