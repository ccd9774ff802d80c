"""Wakes whoever waits for news of a run; for one event loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from execution.view import RunView


class News(asyncio.Event):
    """Set by each news of a run; whoever waits for it clears it.

    What the news are is read, but for the end of a run that this process knows by heart.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ended: RunView | None = None
        """The run, once it has ended."""


class Watchers:
    """Those who wait for news of runs."""

    def __init__(self) -> None:
        self._waiting: defaultdict[UUID, set[News]] = defaultdict(set)

    @contextmanager
    def watch(self, run: UUID) -> Iterator[News]:
        """Yield what is set by each news of a run."""
        news = News()
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

    def tell_end(self, run: UUID, view: Callable[[], RunView | None]) -> None:
        """Wake those who wait for news of a run that has ended, with what came of it.

        Args:
            run: Its id.
            view: Returns the run as it stands; None: they have to read it. Asked only if anybody
                waits.
        """
        if waiting := self._waiting.get(run):
            ended = view()
            for news in waiting:
                news.ended = ended
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
