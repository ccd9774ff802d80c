"""Debounces and rate-limits the list-change notifications of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tools.upstream.status import ListName

# Each report makes the gateway list, compare and embed.
SETTLE_S, MIN_INTERVAL_S = 0.1, 5.0
MAX_BURST = 4
"""Reports that may follow one another closely before `MIN_INTERVAL_S` applies."""


class ChangeReporter:
    """Reports changes of each kind, debounced and rate-limited.

    Args:
        report: Called with the kind of list that changed.
        monotonic: Clock in seconds.
    """

    def __init__(
        self, report: Callable[[ListName], None], *, monotonic: Callable[[], float]
    ) -> None:
        self._report = report
        self._monotonic = monotonic
        self._due: dict[ListName, asyncio.TimerHandle] = {}
        self._paid_until: dict[ListName, float] = {}

    def note_change(self, kind: ListName) -> None:
        """Schedule a report of a change, unless one is due already."""
        if kind not in self._due:
            free_at = self._paid_until.get(kind, 0.0) - (MAX_BURST - 1) * MIN_INTERVAL_S
            wait_s = max(SETTLE_S, free_at - self._monotonic())
            loop = asyncio.get_running_loop()
            self._due[kind] = loop.call_later(wait_s, self._report_change, kind)

    def is_due(self, kind: ListName) -> bool:
        """Whether a change is to be reported."""
        return kind in self._due

    def close(self) -> None:
        """Cancel all pending reports."""
        for timer in self._due.values():
            timer.cancel()

    def _report_change(self, kind: ListName) -> None:
        del self._due[kind]
        now = self._monotonic()
        self._paid_until[kind] = max(now, self._paid_until.get(kind, now)) + MIN_INTERVAL_S
        self._report(kind)
