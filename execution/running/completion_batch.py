"""Batches call completions that arrive close together into one journal write."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class CompletionBatch:
    """Delays the write of a call's completion briefly, for others to join; for one event loop.

    Completions that arrive during a write must wait for it, so the last of several that end within
    milliseconds is known sooner if they share one write.

    Args:
        wake: Set on each update; the reader clears it.
        wait_s: Maximum delay of a write in seconds; 0: no delay.
    """

    def __init__(self, wake: asyncio.Event, wait_s: float) -> None:
        self._wake = wake
        self._wait_s = wait_s
        self._until: float | None = None

    async def wait_for_more(self, *, is_wanted: bool) -> bool:
        """Wait for another update; return whether one arrived in time.

        Args:
            is_wanted: Whether more updates are expected and nothing waits for the write.
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
