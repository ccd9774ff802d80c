"""Wakes whoever waits for news of a run; for one event loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID


class Watchers:
    """Those who wait for news of runs. What the news are they read for themselves."""

    def __init__(self) -> None:
        self._waiting: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)

    @contextmanager
    def watch(self, run: UUID) -> Iterator[asyncio.Event]:
        """Yield an event that is set by each news of a run; whoever waits for it clears it."""
        news = asyncio.Event()
        self._waiting[run].add(news)
        try:
            yield news
        finally:
            self._waiting[run].discard(news)
            if not self._waiting[run]:
                del self._waiting[run]

    def tell(self, run: UUID) -> None:
        """Wake those who wait for news of a run."""
        for news in self._waiting.get(run, ()):
            news.set()

    def tell_all(self) -> None:
        """Wake everybody: there may have been news that nobody heard of."""
        for waiting in self._waiting.values():
            for news in waiting:
                news.set()


async def awaited(news: asyncio.Event, *, wait_s: float) -> bool:
    """Wait for news, and take note of them; say whether there were any in time."""
    try:
        async with asyncio.timeout(wait_s):
            await news.wait()
    except TimeoutError:
        return False
    news.clear()
    return True
