"""Records the longest stall of an event loop in memory shared by two processes."""

from __future__ import annotations

import asyncio
import mmap
import struct
import time
from pathlib import Path
from typing import Final

INTERVAL_S: Final = 0.005
_FORM: Final = struct.Struct("dd")
SIZE: Final = _FORM.size


class Record:
    """A file with the longest stall since it was last cleared.

    Args:
        path: Path of the file, which is created if it is missing.
    """

    def __init__(self, path: Path) -> None:
        with path.open("a+b") as file:
            file.truncate(SIZE)
            self._shared = mmap.mmap(file.fileno(), SIZE)
        self._due_s = time.perf_counter()
        self._used_s = time.thread_time()

    def beat(self, loop: asyncio.AbstractEventLoop) -> None:
        """Record the delay of this timer and schedule the next; runs in the loop's thread."""
        now_s, used_s = time.perf_counter(), time.thread_time()
        late_s, busy_s = self.longest()
        late_s = max(late_s, now_s - self._due_s)
        busy_s = max(busy_s, used_s - self._used_s)
        _FORM.pack_into(self._shared, 0, late_s, busy_s)
        self._due_s, self._used_s = now_s + INTERVAL_S, used_s
        loop.call_later(INTERVAL_S, self.beat, loop)

    def longest(self) -> tuple[float, float]:
        """Return the longest stall, and the most processor time of the loop's thread in one.

        Time during which other threads or processes ran counts only for the former.
        """
        late_s, busy_s = _FORM.unpack_from(self._shared, 0)
        return late_s, busy_s

    def clear(self) -> None:
        """Reset both values to zero."""
        _FORM.pack_into(self._shared, 0, 0.0, 0.0)
