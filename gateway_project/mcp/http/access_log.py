"""One line in the log file for each request, written together: a line costs more than a check."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from gateway_project.foundation import telemetry
from gateway_project.foundation.config import Config

EVERY_S: Final = 0.5
MAX_WAITING: Final = 2_000
"""Lines that wait for the next turn at most; then they are written at once."""

Write = Callable[[str], None]


class AccessLog:
    """Collects lines and writes them in turns; the last ones when the process ends in order.

    Args:
        write: Writes lines, parted by line feeds.
        process: What this process is, as in other lines.
        close: Called after the last line.
    """

    def __init__(
        self, write: Write, *, process: str, close: Callable[[], None] = lambda: None
    ) -> None:
        self._write = write
        self._close = close
        self._process = f"{process}[{os.getpid()}]"
        self._waiting: list[str] = []

    def note(self, fields: Mapping[str, Any]) -> None:
        """Take down a request."""
        line = {
            "event": "http.request",
            **fields,
            "process": self._process,
            "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        }
        self._waiting.append(json.dumps(line))
        if len(self._waiting) >= MAX_WAITING:
            self.flush()

    async def run(self) -> None:
        """Write what waits, until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(EVERY_S)
                self.flush()
        finally:
            self.flush()
            self._close()

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            lines, self._waiting = self._waiting, []
            self._write("\n".join(lines))


def to_file(config: Config, *, process: str) -> AccessLog:
    """Return an access log that goes to the log file of the installation."""
    handler = telemetry.line_handler(config)

    def write(lines: str) -> None:
        if logging.getLogger().isEnabledFor(logging.INFO):
            handler.handle(logging.makeLogRecord({"msg": lines, "levelno": logging.INFO}))

    return AccessLog(write, process=process, close=handler.close)
