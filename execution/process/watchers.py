"""Wakes tasks that wait for changes of a run; for one event loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from execution.view import RunView


class RunSignal(asyncio.Event):
    """Set on each change of a run; the waiting task clears it.

    It carries no data, except a final view that this process has in memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ended_run: RunView | None = None
        """The run's view, once it has ended."""


class RunWatchers:
    """The tasks that wait for changes of runs."""

    def __init__(self) -> None:
        self._waiting: defaultdict[UUID, set[RunSignal]] = defaultdict(set)

    @contextmanager
    def watch(self, run: UUID) -> Iterator[RunSignal]:
        """Yield a signal that is set on each change of a run."""
        signal = RunSignal()
        self._waiting[run].add(signal)
        try:
            yield signal
        finally:
            self._waiting[run].discard(signal)
            if not self._waiting[run]:
                del self._waiting[run]

    def notify(self, run: UUID) -> None:
        """Signal a change of a run."""
        for signal in self._waiting.get(run, ()):
            signal.set()

    def notify_ended(self, run: UUID, view: Callable[[], RunView | None]) -> None:
        """Signal the end of a run, with its final view.

        Args:
            run: Its id.
            view: Builds the view; None: watchers have to load it. Called only if there are
                watchers.
        """
        if signals := self._waiting.get(run):
            ended = view()
            for signal in signals:
                signal.ended_run = ended
                signal.set()

    def notify_all(self) -> None:
        """Signal every run: notifications may have been lost."""
        for signals in self._waiting.values():
            for signal in signals:
                signal.set()


async def wait_for_signal(signal: asyncio.Event, *, wait_s: float) -> bool:
    """Wait for a signal and clear it; return whether it came in time."""
    try:
        async with asyncio.timeout(wait_s):
            await signal.wait()
    except TimeoutError:
        return False
    signal.clear()
    return True
