"""A rate limiter: a token bucket with a burst size and a sustained rate."""

from __future__ import annotations

from collections.abc import Callable


class FloodGuard:
    """Limits the rate of messages, and counts the refused ones.

    Args:
        per_s: Sustained messages per second.
        burst: Messages at once.
        monotonic: Clock in seconds.

    Attributes:
        refused: Messages refused so far.

    Example:
        >>> guard = FloodGuard(per_s=1.0, burst=2, monotonic=lambda: 0.0)
        >>> [guard.try_acquire() for _ in range(3)], guard.refused
        ([True, True, False], 1)
    """

    def __init__(self, *, per_s: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._monotonic = monotonic
        self._tokens = float(burst)
        self._at = monotonic()
        self.refused = 0

    def try_acquire(self) -> bool:
        """Take a token if available; return whether one was."""
        now = self._monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_s)
        self._at = now
        if self._tokens < 1.0:
            self.refused += 1
            return False
        self._tokens -= 1.0
        return True
