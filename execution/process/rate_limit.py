"""Limits how often an action is repeated."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable


class RateWindow:
    """A sliding window of recent actions, by key.

    Args:
        times: Maximum actions within the window.
        within_s: Length of the window in seconds.
    """

    def __init__(self, *, times: int, within_s: float) -> None:
        self._max_times = times
        self._within_s = within_s
        self._timestamps: dict[Hashable, deque[float]] = {}

    def try_acquire(self, key: Hashable, *, now: float) -> bool:
        """Record an action if the limit allows it; return whether it does.

        Args:
            key: Key of the action.
            now: Monotonic time in seconds.

        Example:
            >>> pace = RateWindow(times=1, within_s=10)
            >>> [pace.try_acquire("x", now=now) for now in (0, 5, 11)]
            [True, False, True]
        """
        self._forget_before(now - self._within_s)
        times = self._timestamps.setdefault(key, deque())
        if len(times) >= self._max_times:
            return False
        times.append(now)
        return True

    def _forget_before(self, before: float) -> None:
        for key, times in list(self._timestamps.items()):
            while times and times[0] < before:
                times.popleft()
            if not times:
                del self._timestamps[key]
