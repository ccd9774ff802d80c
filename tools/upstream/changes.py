"""News of changed lists, settled: a burst is told once, and bursts without end are kept apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tools.upstream.status import Kind

# Each report makes the gateway list, compare and embed.
SETTLE_S, APART_S = 0.1, 5.0
AT_ONCE = 4
"""Reports that may follow one another closely before they are kept apart."""


class Changes:
    """Reports each kind of change, now and then.

    Args:
        report: Told of a change.
        monotonic: Clock in seconds.
    """

    def __init__(self, report: Callable[[Kind], None], *, monotonic: Callable[[], float]) -> None:
        self._report = report
        self._monotonic = monotonic
        self._due: dict[Kind, asyncio.TimerHandle] = {}
        self._paid_until: dict[Kind, float] = {}

    def note(self, kind: Kind) -> None:
        """Learn of a change."""
        if kind not in self._due:
            free_at = self._paid_until.get(kind, 0.0) - (AT_ONCE - 1) * APART_S
            wait_s = max(SETTLE_S, free_at - self._monotonic())
            loop = asyncio.get_running_loop()
            self._due[kind] = loop.call_later(wait_s, self._tell, kind)

    def close(self) -> None:
        """Report nothing more."""
        for timer in self._due.values():
            timer.cancel()

    def _tell(self, kind: Kind) -> None:
        del self._due[kind]
        now = self._monotonic()
        self._paid_until[kind] = max(now, self._paid_until.get(kind, now)) + APART_S
        self._report(kind)
