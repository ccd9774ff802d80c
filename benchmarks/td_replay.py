"""Temporal-difference learning and prioritised replay: the alternative to counting.

Foregate counts what runs show. This estimates the same shares step by step instead: each
transition moves a value a little toward what it showed, and surprising ones may be replayed more
often. `benchmarks.replay` compares the two, and docs/patterns.md says what came of it.

References:
    Sutton, Learning to predict by the methods of temporal differences, Machine Learning 3 (1988).
    Dayan, Improving generalization for temporal difference learning: the successor
    representation, Neural Computation 5 (1993).
    Schaul and others, Prioritized experience replay, ICLR (2016).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Generic, NamedTuple, TypeVar

PRIORITY_EXPONENT: Final = 0.6
"""How much surprise decides what is replayed; 0: not at all (Schaul and others)."""
IMPORTANCE_EXPONENT: Final = 0.4
"""How much the bias of that choice is corrected; 1: wholly (Schaul and others)."""
MIN_PRIORITY: Final = 0.01
"""Added to each priority, so that what surprised nobody may be replayed too."""

State = TypeVar("State")
T = TypeVar("T")


class Transition(NamedTuple, Generic[State]):
    """A step of a run: a tool, and the one used after it (None: the run ended)."""

    state: State
    next_state: State | None


@dataclass(frozen=True, kw_only=True)
class LearningRates:
    """Parameters of TD(0).

    Attributes:
        rate: Share of the error by which a value moves, in (0, 1].
        discount: Weight of what comes after the next step, in [0, 1); 0: only the next step
            counts.
    """

    rate: float
    discount: float = 0.0


class SuccessorValues(Generic[State]):
    """Expected, discounted number of times that each tool comes after a tool, by TD(0).

    With a discount of 0 it is the chance that a tool comes next, as the confidence of an observed
    relation is.
    """

    def __init__(self, rates: LearningRates) -> None:
        self._rates = rates
        self._values: dict[State, dict[State, float]] = defaultdict(dict)

    def get_value(self, state: State, later: State) -> float:
        """Return how much a tool is expected after another; 0 if it never was."""
        return self._values[state].get(later, 0.0)

    def get_values(self, state: State) -> dict[State, float]:
        """Return the values of all tools that were used after a tool."""
        return dict(self._values[state])

    def update(self, transition: Transition[State], *, weight: float = 1.0) -> float:
        """Move the values of a tool toward what a step showed; return the size of the error.

        Args:
            transition: The step.
            weight: Importance weight, in (0, 1].
        """
        values = self._values[transition.state]
        target: dict[State, float] = {}
        if transition.next_state is not None:
            rest = self._values[transition.next_state]
            target = {later: self._rates.discount * value for later, value in rest.items()}
            target[transition.next_state] = target.get(transition.next_state, 0.0) + 1.0
        error = 0.0
        for later in values.keys() | target.keys():
            difference = target.get(later, 0.0) - values.get(later, 0.0)
            error = max(error, abs(difference))
            values[later] = values.get(later, 0.0) + weight * self._rates.rate * difference
        return error


class PrioritizedReplay(Generic[T]):
    """Experience that is replayed the more often, the more it surprised.

    Args:
        seed: Seed of the choice.
        exponent: As `PRIORITY_EXPONENT`; 0: all are equally likely.
    """

    def __init__(self, *, seed: int, exponent: float = PRIORITY_EXPONENT) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
        self._exponent = exponent
        self._items: list[T] = []
        self._priorities: list[float] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: T, *, error: float) -> None:
        """Keep an experience that surprised by some error."""
        self._items.append(item)
        self._priorities.append(self._compute_priority(error))

    def sample(self, count: int) -> list[tuple[int, T, float]]:
        """Choose experiences, with replacement: each with its place and importance weight.

        Complexity: O(n + count · log n) for n experiences.

        Raises:
            ValueError: If nothing is kept.
        """
        if not self._items:
            raise ValueError("nothing to replay: add experience first")
        places = self._chance.choices(range(len(self._items)), weights=self._priorities, k=count)
        least = min(self._priorities)
        return [
            (place, self._items[place], (least / self._priorities[place]) ** IMPORTANCE_EXPONENT)
            for place in places
        ]

    def update_priority(self, place: int, *, error: float) -> None:
        """Set how much the experience at a place surprises now."""
        self._priorities[place] = self._compute_priority(error)

    def _compute_priority(self, error: float) -> float:
        return float((abs(error) + MIN_PRIORITY) ** self._exponent)


def split_run(tools: Sequence[State]) -> list[Transition[State]]:
    """Return the steps of a run, with its end.

    Example:
        >>> split_run(["a", "b"])
        [Transition(state='a', next_state='b'), Transition(state='b', next_state=None)]
    """
    steps = [Transition(one, other) for one, other in pairwise(tools)]
    return [*steps, *(Transition(last, None) for last in tools[-1:])]


def learn_with_replay(
    runs: Iterable[Sequence[State]],
    rates: LearningRates,
    replay: PrioritizedReplay[Transition[State]],
    *,
    per_step: int,
) -> SuccessorValues[State]:
    """Learn from runs in order, and after each step replay some earlier ones.

    Args:
        runs: Tools of each run, in order.
        rates: Parameters of TD(0).
        replay: Where steps are kept; empty.
        per_step: Steps replayed after each; 0: none.
    """
    values: SuccessorValues[State] = SuccessorValues(rates)
    for run in runs:
        for step in split_run(run):
            replay.add(step, error=values.update(step))
            for place, earlier, weight in replay.sample(per_step):
                replay.update_priority(place, error=values.update(earlier, weight=weight))
    return values
