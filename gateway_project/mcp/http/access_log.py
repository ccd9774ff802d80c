"""Access log with one line per request, written in batches because each write is expensive."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_core import to_json

from gateway_project.foundation import telemetry
from gateway_project.foundation.config import Config

FLUSH_INTERVAL_S: Final = 0.5
MAX_BUFFERED: Final = 2_000
"""Lines buffered at most; the next flush then happens at once."""

WriteLine = Callable[[str], None]


class AccessLog:
    """Buffers lines and writes them in batches; the last one on an orderly exit.

    Args:
        write: Writes lines separated by line feeds.
        process: Kind of this process, as in other log lines.
        close: Called after the last line.
    """

    def __init__(
        self, write: WriteLine, *, process: str, close: Callable[[], None] = lambda: None
    ) -> None:
        self._write = write
        self._close = close
        self._process = f"{process}[{os.getpid()}]"
        self._buffered_lines: list[str] = []

    def record(self, fields: Mapping[str, Any]) -> None:
        """Record a request."""
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = {"event": "http.request", **fields, "process": self._process, "timestamp": now}
        self._buffered_lines.append(to_json(line).decode())
        if len(self._buffered_lines) >= MAX_BUFFERED:
            self.flush()

    async def run(self) -> None:
        """Flush at intervals until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(FLUSH_INTERVAL_S)
                self.flush()
        finally:
            self.flush()
            self._close()

    def flush(self) -> None:
        """Write the buffered lines."""
        if self._buffered_lines:
            lines, self._buffered_lines = self._buffered_lines, []
            self._write("\n".join(lines))


def make_access_log(config: Config, *, process: str) -> AccessLog:
    """Return an access log that writes to the log file of the installation."""
    handler = telemetry.make_line_handler(config)

    def write(lines: str) -> None:
        if logging.getLogger().isEnabledFor(logging.INFO):
            handler.handle(logging.makeLogRecord({"msg": lines, "levelno": logging.INFO}))

    return AccessLog(write, process=process, close=handler.close)
