"""Limits the number of servers starting at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class StartSlots:
    """Limits concurrent starts; a hanging server blocks the others only briefly.

    Args:
        count: Maximum concurrent starts.
        hold_s: Seconds after which a start still in progress no longer counts.
    """

    def __init__(self, *, count: int, hold_s: float) -> None:
        self._free = asyncio.Semaphore(count)
        self._hold_s = hold_s

    @asynccontextmanager
    async def hold_slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the block, at most `hold_s` seconds."""
        await self._free.acquire()
        timer = asyncio.get_running_loop().call_later(self._hold_s, self._free.release)
        try:
            yield
        finally:
            if timer.when() > asyncio.get_running_loop().time():
                timer.cancel()
                self._free.release()
