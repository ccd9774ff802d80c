"""Slows down what would otherwise be done again and again without coming to anything."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable


class Pace:
    """How often something was done lately.

    Args:
        times: How often it may be done within the time.
        within_s: Seconds.
    """

    def __init__(self, *, times: int, within_s: float) -> None:
        self._times = times
        self._within_s = within_s
        self._done: dict[Hashable, deque[float]] = {}

    def allows(self, what: Hashable, *, now: float) -> bool:
        """Whether it may be done now, which then counts as done.

        Args:
            what: What is to be done.
            now: Seconds, of a clock that never goes back.

        Example:
            >>> pace = Pace(times=1, within_s=10)
            >>> [pace.allows("x", now=now) for now in (0, 5, 11)]
            [True, False, True]
        """
        self._forget(now - self._within_s)
        done = self._done.setdefault(what, deque())
        if len(done) >= self._times:
            return False
        done.append(now)
        return True

    def _forget(self, before: float) -> None:
        for what, done in list(self._done.items()):
            while done and done[0] < before:
                done.popleft()
            if not done:
                del self._done[what]
