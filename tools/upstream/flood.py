"""A token bucket: so many at once, so many per second in the long run."""

from __future__ import annotations

from collections.abc import Callable


class Flood:
    """Says of each message whether it still fits, and counts what does not.

    Args:
        per_s: Messages per second in the long run.
        burst: Messages at once.
        monotonic: Clock in seconds.

    Example:
        >>> flood = Flood(per_s=1.0, burst=2, monotonic=lambda: 0.0)
        >>> [flood.admits() for _ in range(3)], flood.refused
        ([True, True, False], 1)
    """

    def __init__(self, *, per_s: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._monotonic = monotonic
        self._tokens = float(burst)
        self._at = monotonic()
        self.refused = 0

    def admits(self) -> bool:
        """Take a token if there is one."""
        now = self._monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_s)
        self._at = now
        if self._tokens < 1.0:
            self.refused += 1
            return False
        self._tokens -= 1.0
        return True
