"""How busy each server is, so that calls made ahead take idle places only."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

SLOWER: Final = 1.5
"""Factor by which requests may be slower beside calls made ahead than those of the same tool
alone, in the geometric mean; beyond it calls made ahead stop."""
MAX_RATIO: Final = 3.0
"""A call counts as at most so much slower, or quicker: a machine may be busy with other things."""
SLOWER_S: Final = 0.02
"""Least difference that counts, in seconds: smaller ones are the scheduler's."""
MIN_ALONE: Final = 5
"""Calls of a tool alone before others are compared with them."""
MIN_BESIDE: Final = 10
"""Compared calls of a server before they say anything."""
MIN_MEMORY: Final = 0.05
"""Least weight of the latest call in a mean."""
MAX_TOOLS: Final = 200
"""Tools of a server whose durations are remembered."""
LEAST_S: Final = 1e-4
"""Shorter durations count as this long."""
MAX_FAILURES: Final = 3
"""Calls made ahead that may fail in a row."""
FIRST_PAUSE_S: Final = 15.0
MAX_PAUSE_S: Final = 600.0


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

    While they do, or while they fail, no call is made ahead there for a while: for twice as long
    each time, until once they did not.
    """

    def __init__(self) -> None:
        self.real = 0
        """Requests of clients in flight."""
        self.early = 0
        """Calls made ahead in flight."""
        self.writes = 0
        """Of the requests, those that may change something."""
        self._alone: OrderedDict[int, _Mean] = OrderedDict()
        self._ratio = _Mean()
        self._difference = _Mean()
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S
        self._paused_until = 0.0

    def is_backing_off(self, now: float) -> bool:
        """Whether no call is to be made ahead here for now."""
        return now < self._paused_until

    def note_real(self, tool: int, duration_s: float, *, beside_early: bool, now: float) -> None:
        """Take note of a request that its server answered.

        Args:
            tool: Primary key of the tool: only calls of the same tool are compared.
            duration_s: Seconds that it took.
            beside_early: Whether a call made ahead was in flight at the server when it began.
            now: The time, in seconds of a monotonic clock.
        """
        logarithm = math.log(max(duration_s, LEAST_S))
        alone = self._find_alone(tool)
        if not beside_early:
            alone.add(logarithm)
            return
        if alone.count < MIN_ALONE:
            return
        most = math.log(MAX_RATIO)
        ratio = min(max(logarithm - alone.value, -most), most)
        self._ratio.add(ratio)
        self._difference.add(math.exp(alone.value) * (math.exp(ratio) - 1.0))
        if self._ratio.count < MIN_BESIDE:
            return
        if self._ratio.value > math.log(SLOWER) and self._difference.value > SLOWER_S:
            self._back_off(now)
        else:
            self._pause_s = FIRST_PAUSE_S

    def _find_alone(self, tool: int) -> _Mean:
        mean = self._alone.setdefault(tool, _Mean())
        self._alone.move_to_end(tool)
        if len(self._alone) > MAX_TOOLS:
            self._alone.popitem(last=False)
        return mean

    def note_early(self, *, failed: bool, now: float) -> None:
        """Take note of a call made ahead that ended."""
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= MAX_FAILURES:
            self._back_off(now)

    def _back_off(self, now: float) -> None:
        self._paused_until = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, MAX_PAUSE_S)
        self._ratio, self._difference, self._failures = _Mean(), _Mean(), 0
