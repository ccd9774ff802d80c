"""How many servers may be starting at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class StartSlots:
    """Limits concurrent starts without letting a server that hangs hold up the others.

    Args:
        count: Starts at the same time.
        hold_s: Seconds after which a start that is still under way no longer counts.
    """

    def __init__(self, *, count: int, hold_s: float) -> None:
        self._free = asyncio.Semaphore(count)
        self._hold_s = hold_s

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it for the block, but not longer than `hold_s`."""
        await self._free.acquire()
        timer = asyncio.get_running_loop().call_later(self._hold_s, self._free.release)
        try:
            yield
        finally:
            if timer.when() > asyncio.get_running_loop().time():
                timer.cancel()
                self._free.release()
