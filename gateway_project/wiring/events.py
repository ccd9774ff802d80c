"""Builds the parts of the episodic memory of a process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway_project.foundation.config import Config
from learning.memory import spool
from learning.memory.capture import Capture
from learning.memory.spool import Spool

BYTES_PER_MB = 1_000_000


@asynccontextmanager
async def open_capture(config: Config) -> AsyncIterator[Capture]:
    """Yield what records the events of this process, and release its spool file afterwards.

    What is recorded after that goes to a new file and is loaded by another process.
    """
    capture = Capture(Spool(config.home / spool.FOLDER, max_bytes=config.spool_mb * BYTES_PER_MB))
    try:
        yield capture
    finally:
        capture.close()
