"""Decide which predicted reads are dispatched, within a budget of waste."""

from __future__ import annotations

from typing import Final

WAIT_VALUE: Final = 0.5
"""What an unused dispatch costs beside what a lost hit costs, when predictions are ranked."""
STEP: Final = 0.02
"""How far one resolved dispatch moves the threshold."""
MIN_THRESHOLD: Final = 0.02
MAX_THRESHOLD: Final = 0.98
PRIOR_DISPATCHES: Final = 12.0
"""Dispatches within budget that a new budget counts as made, so that the first may miss."""


def default_threshold(budget: float) -> float:
    """Return the threshold that a budget starts at."""
    return (1 - budget) ** 2


def rank_dispatch(chance: float, next_chance: float) -> float:
    """Return how much a prediction gains from being dispatched now, in [0, 1).

    Waiting costs nothing but the case that the call comes next: later there is another chance
    to dispatch it, with more known. Dispatching costs the case that it never comes.

    Args:
        chance: That the call comes before anything invalidates it, in [0, 1].
        next_chance: That it is the very next call, in [0, chance].

    Example:
        >>> rank_dispatch(1.0, 1.0), round(rank_dispatch(0.5, 0.25), 2)
        (1.0, 0.5)
    """
    weighed = WAIT_VALUE * (1 - chance)
    return next_chance / (next_chance + weighed) if next_chance > 0 else 0.0


class WasteBudget:
    """Keeps the share of dispatched calls that go unused within a budget; not thread-safe.

    A threshold on `rank_dispatch` rises with every unused dispatch and falls with every used one,
    so that in the long run the share of unused ones is the budget (stochastic approximation).
    A call that is less likely used than the budget asks is not dispatched while the dispatches so
    far, with the expected waste of the pending ones, are over budget.

    References:
        Robbins and Monro, A stochastic approximation method, Ann. Math. Statist. 22 (1951).
        Gibbs and Candès, Adaptive conformal inference under distribution shift, NeurIPS 2021.
    """

    def __init__(self, budget: float) -> None:
        """Start a budget.

        Args:
            budget: Share of dispatched calls that may go unused, in [0, 1]; 0 dispatches nothing.

        Raises:
            ValueError: If the budget is not in [0, 1].
        """
        if not 0 <= budget <= 1:
            raise ValueError(f"a waste budget is a share in [0, 1], not {budget}")
        self.budget = budget
        self.threshold = default_threshold(budget)
        self.dispatched = 0
        self.wasted = 0
        self._pending_waste = 0.0

    def admits(self, chance: float, next_chance: float) -> bool:
        """Return whether a prediction is worth a dispatch, and the budget allows it."""
        if self.budget == 0 or rank_dispatch(chance, next_chance) < self.threshold:
            return False
        return 1 - chance <= self.budget or self._allows(1 - chance)

    def _allows(self, waste: float) -> bool:
        expected = self.wasted + self._pending_waste + waste
        return expected <= self.budget * (self.dispatched + 1 + PRIOR_DISPATCHES)

    def record_dispatch(self, chance: float) -> None:
        """Take note of a dispatch."""
        self.dispatched += 1
        self._pending_waste += 1 - chance

    def withdraw_dispatch(self, chance: float) -> None:
        """Take back a dispatch, made at the given chance, that was not sent after all."""
        self.dispatched -= 1
        self._pending_waste = max(0.0, self._pending_waste - (1 - chance))

    def record_outcome(self, chance: float, *, was_used: bool) -> None:
        """Take note of what became of a dispatch, made at the given chance."""
        self._pending_waste = max(0.0, self._pending_waste - (1 - chance))
        self.wasted += not was_used
        moved = self.threshold + STEP * (float(not was_used) - self.budget)
        self.threshold = min(max(moved, MIN_THRESHOLD), MAX_THRESHOLD)
