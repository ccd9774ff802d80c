"""Relays a server's stderr to the gateway's log, rate-limited, and keeps its tail for errors."""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from tools.upstream.flood_guard import FloodGuard
from tools.upstream.lines import LineSplitter, OversizeLine
from tools.upstream.origin import ConnectionOrigin
from tools.upstream.output_tail import clean_line

SLACK_BYTES = 2_000
"""Read beyond the shown part of a line, so that a secret is not cut before it is recognised."""

log = structlog.get_logger(__name__)


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
