"""Decide which stated values a task may take, by `fitting`, `protection` and `orders`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.suggestion.binding import protection
from graph.suggestion.binding.orders import find_unordered, mark_unordered, read_task_order
from graph.suggestion.binding.protected_values import find_protected_values
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.intent.orders import Order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graph.suggestion.binding.bound_argument import BoundArgument
    from graph.suggestion.binding.features import FeatureGrid
    from graph.suggestion.binding.knowledge import BindingKnowledge
    from graph.suggestion.binding.steps import BindingStep
    from graph.suggestion.binding.values import StatedValue
    from graph.suggestion.intent.reading import IntentReading

ADDRESS_KINDS: Final = frozenset({ValueKind.PATH, ValueKind.URL, ValueKind.IP})
"""Kinds of values that tools of one server share under the same parameter name."""
_FITTED_KINDS: Final = ADDRESS_KINDS | {ValueKind.QUOTED, ValueKind.EMAIL}
"""Kinds of values of which `fitting` knows for which parameters they are possible."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BindingGuard:
    """What the tasks of one workflow may take of the values that its intent states.

    Attributes:
        steps: The tasks.
        grid: Their parameters, and the stated values.
        thresholds: `(p, n)`; minimum probability to bind each value to each parameter.
        protected_spans: Spans of the values that the intent protects.
        orders: Whether the intent orders each task.
        unordered: Of each task, the spans of requests of which it may take nothing.
    """

    steps: Sequence[BindingStep]
    grid: FeatureGrid
    thresholds: NDArray[np.float64]
    protected_spans: Sequence[tuple[int, int]]
    orders: Sequence[Order]
    unordered: Sequence[Sequence[tuple[int, int]]]

    def is_possible(self, position: int, name: str, argument: BoundArgument) -> bool:
        """Whether a step may take a value that was found by its form.

        Values of other kinds that a rule has read are no candidates of `fitting`. What past runs
        rarely took from intents is believed only of the part that asks for the task.
        """
        if self.orders[position] is not Order.PLAIN:
            return False
        row, stated = self._find_row(position, name), argument.stated
        if stated is not None and any(
            start < stated.end and stated.start < end for start, end in self.unordered[position]
        ):
            return False
        if row is None or stated is None:
            return True
        is_fitted = stated.kind in _FITTED_KINDS
        is_located = self.steps[position].request is not None
        highest = np.finfo(np.float64).max if is_located else argument.confidence
        return all(
            self.thresholds[row, column] <= highest
            and (not is_fitted or self.grid.possible[row, column])
            for column, one in enumerate(self.grid.stated.values)
            if (one.start, one.end, one.kind) == (stated.start, stated.end, stated.kind)
        )

    def is_permitted(self, position: int, name: str, stated: StatedValue) -> bool:
        """Whether any probability is enough for a step to take a value."""
        row = self._find_row(position, name)
        return row is None or all(
            np.isfinite(self.thresholds[row, column])
            for column, one in enumerate(self.grid.stated.values)
            if one.start < stated.end and stated.start < one.end
        )

    def is_protected(self, position: int, stated: StatedValue) -> bool:
        """Whether the intent protects a value from a step, which may do more than read it.

        Unlike `is_permitted`, this allows a value of another clause: a request that says "it"
        means one.
        """
        return not self.steps[position].is_read_only and any(
            start < stated.end and stated.start < end for start, end in self.protected_spans
        )

    def _find_row(self, position: int, name: str) -> int | None:
        """Return the row of a parameter in the grid; None if it is not among those examined."""
        pairs = zip(self.grid.owners, self.grid.parameters, strict=True)
        rows = (row for row, (at, one) in enumerate(pairs) if at == position and one.name == name)
        return next(rows, None)


def make_guard(
    steps: Sequence[BindingStep],
    grid: FeatureGrid,
    *,
    reading: IntentReading,
    knowledge: BindingKnowledge,
) -> BindingGuard:
    """Read what an intent protects, and what its tools may not take.

    Args:
        steps: The tasks.
        grid: Features of these steps.
        reading: The prepared intent.
        knowledge: Counts from the scope's past runs.
    """
    thresholds = protection.compute_thresholds(steps, grid, reading=reading, knowledge=knowledge)
    orders = [read_task_order(step, reading) for step in steps]
    unordered = [find_unordered(step, reading) for step in steps]
    marked = mark_unordered(steps, grid, reading, orders, unordered)
    thresholds[marked] = protection.NEVER_BOUND
    return BindingGuard(
        steps=steps,
        grid=grid,
        thresholds=thresholds,
        protected_spans=list(_iterate_protected(grid, reading)),
        orders=orders,
        unordered=unordered,
    )


def _iterate_protected(grid: FeatureGrid, reading: IntentReading) -> Iterator[tuple[int, int]]:
    protected = find_protected_values(grid.stated, reading)
    for value, is_protected in zip(grid.stated.values, protected, strict=True):
        if is_protected:
            yield value.start, value.end
