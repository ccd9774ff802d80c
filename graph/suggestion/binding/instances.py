"""Count how often a tool must occur in a workflow because the intent asks several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.binding import literals, protection
from graph.suggestion.binding.features import FeatureGrid, compute_grid
from graph.suggestion.binding.literals import MIN_SEVERAL_PROBABILITY
from graph.suggestion.binding.model import load_shipped_model
from graph.suggestion.binding.steps import MIN_REQUIRED_PROBABILITY
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.vocabulary import normalize_words

if TYPE_CHECKING:
    from graph.suggestion.binding.model import BindingModel
    from graph.suggestion.binding.steps import BindingStep
    from graph.suggestion.intent.reading import IntentReading

MAX_INSTANCES = 5
TARGET_WORDS: Final = normalize_words(
    ["path", "file", "directory", "source", "destination", "url"]
)
"""Words of parameters that name the target of an action."""
MIN_PROBABILITY: Final = 0.4
"""Minimum total probability of the values."""
MIN_RIVAL_RATIO: Final = 0.5
"""Ratio to a value's probability from which another parameter competes for it."""
MIN_CLAUSE_SHARE: Final = 0.9
"""Minimum share (`BindingStep.clause_shares`) for a clause to ask for a tool."""


def count_instances(
    steps: Sequence[BindingStep],
    *,
    reading: IntentReading,
    model: BindingModel | None = None,
    grid: FeatureGrid | None = None,
) -> dict[str, int]:
    """Return, by step id, the number of tasks its tool must become, at least 1.

    "What time is it in Tokyo and in Paris" asks twice: two values of one kind fit the same
    required parameter and are listed together, or introduced alike in two clauses that both ask
    for the tool. `bind` assigns the values to the tasks in the order of the text. A tool that
    takes a list, or that occurs several times already, counts once.

    Args:
        steps: One for each chosen tool.
        reading: The prepared intent.
        model: None for the shipped one.
        grid: Features of these steps; None: computed here.
    """
    grid = grid or compute_grid(steps, reading=reading)
    probabilities = (model or load_shipped_model()).predict_probabilities(grid)
    tools = [step.tool.pk for step in steps]
    probabilities = protection.mask_forbidden(
        probabilities,
        protection.compute_thresholds(steps, grid, reading=reading),
    )
    instance_counts = dict.fromkeys((step.id for step in steps), 1)
    counts: dict[int, int] = {}
    for row, parameter in enumerate(grid.parameters):
        position = int(grid.owners[row])
        is_countable = parameter.is_required or len(grid.schemas[position].parameters) == 1
        if not is_countable or parameter.is_array or tools.count(tools[position]) > 1:
            continue
        several = literals.find_equal_fits(grid, probabilities[row], parameter)
        if _is_values_parameter(grid, probabilities, row, several):
            counts[row] = min(
                _count_requested(grid, several, reading, steps[position]), MAX_INSTANCES
            )
    for row, count in counts.items():
        step = steps[grid.owners[row]]
        if step.is_read_only or not _repeats_same_target(grid, counts, row):
            instance_counts[step.id] = max(instance_counts[step.id], count)
    return instance_counts


def _repeats_same_target(grid: FeatureGrid, counts: Mapping[int, int], row: int) -> bool:
    """Whether a tool's tasks would all act on the same target: two texts written to one file."""
    return any(
        other != row
        and grid.owners[other] == grid.owners[row]
        and parameter.is_required
        and not parameter.name_words.isdisjoint(TARGET_WORDS)
        and counts.get(other, 1) < counts[row]
        for other, parameter in enumerate(grid.parameters)
    )


def _is_values_parameter(
    grid: FeatureGrid, probabilities: NDArray[np.float64], row: int, several: Sequence[int]
) -> bool:
    """Whether values are for this parameter and no other of the workflow competes for them."""
    if len(several) < 2 or probabilities[row][several].sum() < MIN_PROBABILITY:
        return False
    others = [
        other
        for other in range(len(grid.parameters))
        if other != row and not _lacks_required_value(grid, probabilities, row, other)
    ]
    if any(_takes_list(grid, probabilities, other, several) for other in others):
        return False
    if not others:
        return True
    rivals = probabilities[np.ix_(others, several)].max(axis=0)
    return bool((rivals < MIN_RIVAL_RATIO * probabilities[row][several]).all())


def _lacks_required_value(
    grid: FeatureGrid, probabilities: NDArray[np.float64], row: int, other: int
) -> bool:
    """Whether another parameter's task lacks a required value, so that it does not compete.

    "What time is it in Tokyo and in Paris" states no time for a tool that converts times.
    """
    owner = grid.owners[other]
    return bool(owner != grid.owners[row]) and any(
        one == owner
        and parameter.is_required
        and probabilities[place][:-1].sum() < MIN_REQUIRED_PROBABILITY
        for place, (one, parameter) in enumerate(zip(grid.owners, grid.parameters, strict=True))
    )


def _takes_list(
    grid: FeatureGrid, probabilities: NDArray[np.float64], row: int, several: Sequence[int]
) -> bool:
    """Whether a parameter may take the values as the list that contains them."""
    parts = [grid.stated.values[place] for place in several]
    return any(
        one.kind is ValueKind.LIST
        and probabilities[row][place] > MIN_SEVERAL_PROBABILITY
        and all(part in one.parts for part in parts)
        for place, one in enumerate(grid.stated.values)
    )


def _count_requested(
    grid: FeatureGrid, several: Sequence[int], reading: IntentReading, step: BindingStep
) -> int:
    """Count the values for which the intent requests the step."""
    stated = grid.stated
    ordered = sorted(several, key=lambda place: stated.values[place].start)
    if literals.are_values_listed(grid, ordered):
        return len(ordered)
    asking = _requesting_clauses(reading, step)
    count = 1
    for first, second in pairwise(ordered):
        clauses = {reading.find_clause_at(stated.values[place].start) for place in (first, second)}
        is_introduced_alike = stated.introduced_by[first] == stated.introduced_by[second] != ""
        count += is_introduced_alike and len(clauses) == 2 and clauses <= asking
    return count


def _requesting_clauses(reading: IntentReading, step: BindingStep) -> set[int]:
    """Return the indices of the clauses that ask for a step's tool."""
    if step.clause_shares is None or len(step.clause_shares) != len(reading.clauses):
        return set()
    return {n for n, share in enumerate(step.clause_shares) if share >= MIN_CLAUSE_SHARE}
