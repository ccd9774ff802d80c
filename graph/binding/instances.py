"""Tell how often a tool must stand in a workflow because the intent asks several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.binding import guard, literals
from graph.binding.features import Grid, grid
from graph.binding.literals import CREDIBLE
from graph.binding.model import shipped
from graph.binding.steps import Least
from graph.binding.value_patterns import Kind
from graph.binding.vocabulary import meaning

if TYPE_CHECKING:
    from graph.binding.model import BindingModel
    from graph.binding.steps import Step
    from graph.intent.reading import Reading

MAX_INSTANCES = 5
ACTED_ON: Final = meaning(["path", "file", "directory", "source", "destination", "url"])
"""Words of parameters that say what a tool acts upon."""
SURE: Final = 0.4
"""Probability of all the values together from which on they are believed."""
RIVAL: Final = 0.5
"""Share of a value's probability from which on another parameter may want it as well."""
HOPELESS: Final = Least().required
"""Probability that the intent states a required argument, below which none is bound."""
NEAREST: Final = 0.9
"""Share in a clause from which on a tool is what the clause asks for (see `Step.shares`)."""


def instances(
    steps: Sequence[Step], *, reading: Reading, model: BindingModel | None = None
) -> dict[str, int]:
    """Return, by step's id, how many tasks its tool must become (1 where it stands alone).

    "What time is it in Tokyo and in Paris" asks twice: two values of one kind, listed side by
    side or said alike in two clauses that both ask for the tool, fit the same required parameter.
    `bind` gives each of the tasks another of the values, in the order the intent states them. A
    tool that takes a list, or that stands several times already, is asked once.

    Args:
        steps: One for each chosen tool.
        reading: Of the intent.
        model: None for the shipped one.
    """
    compared = grid(steps, reading=reading)
    likely = (model or shipped()).probabilities(compared)
    tools = [step.tool.pk for step in steps]
    likely = guard.allowed(likely, guard.bars(steps, compared, reading=reading, least=Least()))
    wanted = dict.fromkeys((step.id for step in steps), 1)
    counts: dict[int, int] = {}
    for row, parameter in enumerate(compared.parameters):
        place = int(compared.owners[row])
        asks = parameter.is_required or len(compared.schemas[place].parameters) == 1
        if not asks or parameter.is_array or tools.count(tools[place]) > 1:
            continue
        several = literals.several(compared, likely[row], parameter)
        if _believed(compared, likely, row, several):
            counts[row] = min(_asked(compared, several, reading, steps[place]), MAX_INSTANCES)
    for row, count in counts.items():
        step = steps[compared.owners[row]]
        if step.is_read_only or not _hits_again(compared, counts, row):
            wanted[step.id] = max(wanted[step.id], count)
    return wanted


def _hits_again(compared: Grid, counts: Mapping[int, int], row: int) -> bool:
    """Whether a tool's tasks would all act on the same: two texts written to one file."""
    return any(
        other != row
        and compared.owners[other] == compared.owners[row]
        and parameter.is_required
        and not parameter.words.isdisjoint(ACTED_ON)
        and counts.get(other, 1) < counts[row]
        for other, parameter in enumerate(compared.parameters)
    )


def _believed(
    compared: Grid, likely: NDArray[np.float64], row: int, several: Sequence[int]
) -> bool:
    """Whether values are for this parameter, and for no other of the same workflow."""
    if len(several) < 2 or likely[row][several].sum() < SURE:
        return False
    others = [
        other
        for other in range(len(compared.parameters))
        if other != row and not _cannot_run(compared, likely, row, other)
    ]
    if any(_takes_list(compared, likely, other, several) for other in others):
        return False
    if not others:
        return True
    rivals = likely[np.ix_(others, several)].max(axis=0)
    return bool((rivals < RIVAL * likely[row][several]).all())


def _cannot_run(compared: Grid, likely: NDArray[np.float64], row: int, other: int) -> bool:
    """Whether another parameter is of a task that lacks what the intent would have to state.

    "What time is it in Tokyo and in Paris" states no time that could be converted.
    """
    owner = compared.owners[other]
    return bool(owner != compared.owners[row]) and any(
        one == owner and parameter.is_required and likely[place][:-1].sum() < HOPELESS
        for place, (one, parameter) in enumerate(
            zip(compared.owners, compared.parameters, strict=True)
        )
    )


def _takes_list(
    compared: Grid, likely: NDArray[np.float64], row: int, several: Sequence[int]
) -> bool:
    """Whether a parameter may well take values as the list they stand in."""
    parts = [compared.stated.values[place] for place in several]
    return any(
        one.kind is Kind.LIST
        and likely[row][place] > CREDIBLE
        and all(part in one.parts for part in parts)
        for place, one in enumerate(compared.stated.values)
    )


def _asked(compared: Grid, several: Sequence[int], reading: Reading, step: Step) -> int:
    """Return for how many of some values the intent asks for a step."""
    stated = compared.stated
    ordered = sorted(several, key=lambda place: stated.values[place].start)
    if literals.listed(compared, ordered):
        return len(ordered)
    asking = _asking(reading, step)
    count = 1
    for one, other in pairwise(ordered):
        clauses = {_clause_at(reading, stated.values[place].start) for place in (one, other)}
        alike = stated.introduced_by[one] == stated.introduced_by[other] != ""
        count += alike and len(clauses) == 2 and clauses <= asking
    return count


def _clause_at(reading: Reading, start: int) -> int:
    return max((n for n, one in enumerate(reading.clauses) if one.start <= start), default=0)


def _asking(reading: Reading, step: Step) -> set[int]:
    """Return the clauses that ask for a step's tool."""
    if step.shares is None or len(step.shares) != len(reading.clauses):
        return set()
    return {n for n, share in enumerate(step.shares) if share >= NEAREST}
