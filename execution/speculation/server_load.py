"""How busy each server is, so that calls made ahead take idle places only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SLOWER: Final = 1.25
"""Factor by which real calls may be slower beside calls made ahead; beyond it these stop."""
SLOWER_S: Final = 0.01
"""Difference that does not count: the scheduler's."""
MIN_CALLS: Final = 5
"""Calls of each kind before they are compared."""
MIN_MEMORY: Final = 0.05
"""Least weight of the latest call in a mean."""
MAX_FAILURES: Final = 3
"""Calls made ahead that may fail in a row."""
FIRST_PAUSE_S: Final = 30.0
MAX_PAUSE_S: Final = 1_800.0


@dataclass
class _Mean:
    """A mean that follows changes."""

    value: float = 0.0
    count: int = 0

    def add(self, value: float) -> None:
        self.count += 1
        self.value += max(1 / self.count, MIN_MEMORY) * (value - self.value)


class ServerLoad:
    """The calls in flight at one server, and whether calls made ahead slow down real ones.

    While they do, or while they fail, no call is made ahead there: for half a minute at first,
    for twice as long each time after.
    """

    def __init__(self) -> None:
        self.real = 0
        """Requests of clients in flight."""
        self.early = 0
        """Calls made ahead in flight."""
        self.writes = 0
        """Of the requests, those that may change something."""
        self._alone = _Mean()
        self._beside = _Mean()
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S
        self._paused_until = 0.0

    def is_backing_off(self, now: float) -> bool:
        """Whether no call is to be made ahead here for now."""
        return now < self._paused_until

    def note_real(self, duration_s: float, *, beside_early: bool, now: float) -> None:
        """Take note of a request that its server answered."""
        (self._beside if beside_early else self._alone).add(duration_s)
        if not beside_early or min(self._alone.count, self._beside.count) < MIN_CALLS:
            return
        if self._beside.value > SLOWER * self._alone.value + SLOWER_S:
            self._back_off(now)

    def note_early(self, *, failed: bool, now: float) -> None:
        """Take note of a call made ahead that ended."""
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= MAX_FAILURES:
            self._back_off(now)

    def _back_off(self, now: float) -> None:
        self._paused_until = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, MAX_PAUSE_S)
        self._alone, self._beside, self._failures = _Mean(), _Mean(), 0
