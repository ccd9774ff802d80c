"""A limit on the processor time that background work takes, as a share of one core."""

from __future__ import annotations

from collections.abc import Callable


class ProcessorBudget:
    """A token bucket of processor time; for one thread.

    Work is not interrupted: what exceeds the budget is paid off before more is allowed.

    Args:
        share: Share of a core that may be used in the long run, in (0, 1].
        burst_s: Processor seconds that may be used at once after a pause.
        clock: Monotonic clock, in seconds.

    Example:
        >>> now = [0.0]
        >>> budget = ProcessorBudget(share=0.1, burst_s=1.0, clock=lambda: now[0])
        >>> budget.spend(1.5)
        >>> budget.is_exhausted
        True
        >>> now[0] = 6.0
        >>> budget.is_exhausted
        False
    """

    def __init__(self, *, share: float, burst_s: float, clock: Callable[[], float]) -> None:
        self._share = share
        self._burst_s = burst_s
        self._clock = clock
        self._left_s = burst_s
        self._at = clock()

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing may be used now."""
        self._refill()
        return self._left_s <= 0.0

    def spend(self, seconds: float) -> None:
        """Take processor time that was used."""
        self._refill()
        self._left_s -= seconds

    def _refill(self) -> None:
        now = self._clock()
        self._left_s = min(self._burst_s, self._left_s + self._share * (now - self._at))
        self._at = now
