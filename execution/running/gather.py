"""Lets what happens at about the same time be written down together."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Gathering:
    """The moment that the end of a call waits for other calls to end; for one event loop.

    What comes while a write is under way has to wait for it: the last of several calls that end
    within a few milliseconds is known sooner if they share one.

    Args:
        wake: Set when something has happened; whoever looks at what it was clears it.
        wait_s: Seconds that a write is put off at most; 0: none is.
    """

    def __init__(self, wake: asyncio.Event, wait_s: float) -> None:
        self._wake = wake
        self._wait_s = wait_s
        self._until: float | None = None

    async def more(self, *, is_wanted: bool) -> bool:
        """Wait for something to happen, and say whether it did in time.

        Args:
            is_wanted: Whether more may come, and nothing waits for the write itself.
        """
        if not (self._wait_s and is_wanted):
            self._until = None
            return False
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + self._wait_s
        if now < self._until:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._until):
                    await self._wake.wait()
                return True
        self._until = None
        return False
