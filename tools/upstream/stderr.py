"""A server's stderr: relayed to the gateway's log, bounded, and remembered for errors."""

from __future__ import annotations

import re
from collections.abc import Iterable

import structlog

from gateway_project.foundation import sealing
from tools.upstream.flood import Flood
from tools.upstream.lines import LineSplitter, Oversize
from tools.upstream.origin import Origin

MAX_REMEMBERED = 300  # characters of the last line, for error messages

log = structlog.get_logger(__name__)

# Terminal escapes first, then every other control character and the invisible direction marks.
_UNPRINTABLE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
)


def printable(text: str) -> str:
    r"""Strip terminal escapes, control and invisible characters.

    Example:
        >>> printable("\x1b[31mred\x1b[0m\ttea")
        'redtea'
    """
    return _UNPRINTABLE.sub("", text)


class StderrLog:
    """Logs what a server writes to stderr: so many lines at most, each cut, without secrets.

    Args:
        origin: Whose stderr it is.
    """

    def __init__(self, origin: Origin) -> None:
        limits = origin.limits
        self._server = origin.server
        self._secrets = origin.secrets
        self._max_bytes = limits.stderr_line_bytes
        self._splitter = LineSplitter(max_bytes=limits.stderr_line_bytes)
        self._flood = Flood(
            per_s=limits.stderr_lines_per_s,
            burst=limits.stderr_lines_burst,
            monotonic=origin.monotonic,
        )
        self._unlogged = 0
        self.last_line = ""

    def feed(self, chunk: bytes) -> None:
        """Take what arrived."""
        self._take(self._splitter.feed(chunk))

    def close(self) -> None:
        """Take what is left at the end of the stream."""
        self._take(self._splitter.close())
        if self._unlogged:
            log.info("server wrote more to stderr", server=self._server, lines=self._unlogged)
            self._unlogged = 0

    def _take(self, lines: Iterable[bytes | Oversize]) -> None:
        for line in lines:
            if isinstance(line, bytes):
                self._line(line, suffix="")
            elif not line.ended:
                self._line(line.head[: self._max_bytes], suffix="…")

    def _line(self, line: bytes, *, suffix: str) -> None:
        text = printable(sealing.redact(line.decode(errors="replace"), self._secrets)).strip()
        if not text:
            return
        self.last_line = text[:MAX_REMEMBERED] + (suffix or "…" * (len(text) > MAX_REMEMBERED))
        if not self._flood.admits():
            self._unlogged += 1
            return
        unlogged, self._unlogged = self._unlogged, 0
        more = {"unlogged_before": unlogged} if unlogged else {}
        log.info("server stderr", server=self._server, text=text + suffix, **more)
