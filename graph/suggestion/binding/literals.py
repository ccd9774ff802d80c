"""Assign the values stated in an intent to parameters."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.binding import arguments
from graph.suggestion.binding.bound_argument import BoundArgument
from graph.suggestion.binding.protection import mask_forbidden
from graph.suggestion.binding.steps import BindingSource
from graph.suggestion.binding.value_patterns import ValueKind
from graph.suggestion.binding.values import StatedValue, are_listed_together, normalize_value
from graph.suggestion.binding.vocabulary import OPPOSITE_PREPOSITIONS, PREPOSITIONS

if TYPE_CHECKING:
    from graph.suggestion.binding.features import FeatureGrid
    from graph.suggestion.binding.schemas import ToolParameter
    from graph.suggestion.binding.steps import BindingStep

Floats = NDArray[np.float64]

MAX_OPTIONS = 8
"""Limit of values considered per parameter, the likeliest."""
MIN_OPTION_PROBABILITY = 0.02
"""Minimum probability of a value to be considered."""
MIN_LIKELIHOOD_RATIO = 0.25
"""Minimum probability, relative to the likeliest value, of one requested beside it."""
MIN_SEVERAL_PROBABILITY = 0.04
"""Minimum probability of a value to be one of several requested ones."""
MIN_TRANSFER_PROBABILITY = 0.15
"""Minimum probability of two paths to be source and target of a transfer."""
TRANSFER_CONFIDENCE = 0.6
"""Minimum confidence in both if the text joins them by "to"."""
_TO_PREPOSITION: Final = re.compile(r"['\"”’`]?\s+(?:in)?to\s+['\"“‘`]?")  # noqa: RUF001 - as typed
CLEAR_LIKELIHOOD_RATIO = 2.0
"""Likelihood ratio from which source and target override the order of the text."""
IMPRECISE_KINDS: Final = frozenset(
    {ValueKind.PHRASE, ValueKind.WORD, ValueKind.NUMBER_WORD, ValueKind.LIST}
)
"""Kinds that are frequent in any text: they never indicate several requests."""

ParameterRow = tuple[int, str]
"""Position of a step, and the name of one of its parameters."""


@dataclass(frozen=True, kw_only=True)
class LiteralOption:
    """A possible value for a parameter of a step.

    Attributes:
        row: The parameter.
        column: Index of the likeliest statement of the value.
        value: Converted for the parameter.
        stated: The likeliest statement of the value in the intent.
        spans: Spans of all statements of it.
        probability: Sum over all statements.
    """

    row: ParameterRow
    column: int
    value: Any
    stated: StatedValue
    spans: frozenset[tuple[int, int]]
    probability: float

    @property
    def span(self) -> tuple[int, int]:
        """Span of its likeliest statement."""
        return self.stated.span


def choose_literals(
    steps: Sequence[BindingStep],
    *,
    grid: FeatureGrid,
    probabilities: Floats,
    thresholds: Floats,
    without: Collection[ParameterRow] = (),
    used_spans: Mapping[int, Collection[tuple[int, int]]] | None = None,
) -> dict[ParameterRow, BoundArgument]:
    """Choose stated values for the parameters of steps.

    Greedy by probability; each statement serves one parameter per step. If a tool occurs several
    times, its tasks share several values of one kind among them, in the order of the text.

    Args:
        steps: In run order.
        grid: The grid of their parameters and the values.
        probabilities: `(p, n + 1)`, from the model.
        thresholds: `(p, n)` minimum probability to bind each value; see `protection`.
        without: Parameters bound from other sources.
        used_spans: By position of a step, statements that serve its other parameters already.
    """
    rows = _index_rows(grid, without)
    probabilities = mask_forbidden(probabilities, thresholds)
    shared = _share_among_tasks(steps, grid, probabilities, rows)
    lowest = thresholds.min(axis=1, initial=1.0)
    is_plausible = probabilities[:, :-1].sum(axis=1) >= lowest
    found: dict[ParameterRow, BoundArgument] = {}
    by_step: dict[int, list[LiteralOption]] = defaultdict(list)
    for row, position in rows.items():
        if row in shared:
            by_step[row[0]].append(shared[row])
        elif is_plausible[position]:
            by_step[row[0]] += rank_options(grid, probabilities, position)
    for step, options in by_step.items():
        used = (used_spans or {}).get(step, ())
        chosen = [one for one in options if not _overlaps(one.span, used)]
        assigned = _assign_greedily(chosen, thresholds, rows)
        assigned |= _swap_opposed_pairs(assigned, chosen, grid, rows)
        assigned |= _assign_transfer_pair(assigned, chosen, grid, rows)
        found |= {row: _to_bound_argument(option) for row, option in assigned.items()}
    return found


def _overlaps(span: tuple[int, int], others: Collection[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _index_rows(grid: FeatureGrid, without: Collection[ParameterRow]) -> dict[ParameterRow, int]:
    rows = {
        (int(owner), parameter.name): position
        for position, (owner, parameter) in enumerate(
            zip(grid.owners, grid.parameters, strict=True)
        )
    }
    return {row: position for row, position in rows.items() if row not in without}


def rank_options(grid: FeatureGrid, probabilities: Floats, position: int) -> list[LiteralOption]:
    """Return the likeliest values of a parameter, merging equal ones."""
    parameter = grid.parameters[position]
    row_probabilities = probabilities[position, :-1]
    by_value: dict[str, list[tuple[int, Any]]] = {}
    best = np.argsort(-row_probabilities, kind="stable")[:MAX_OPTIONS]
    for column in best[row_probabilities[best] > MIN_OPTION_PROBABILITY]:
        value = arguments.convert_value(parameter, grid.stated.values[column])
        if value is not arguments.NOT_CONVERTIBLE:
            by_value.setdefault(normalize_value(value), []).append((int(column), value))
    row = (int(grid.owners[position]), parameter.name)
    return [_make_option(row, grid, row_probabilities, same) for same in by_value.values()]


def _make_option(
    row: ParameterRow, grid: FeatureGrid, probabilities: Floats, same: list[tuple[int, Any]]
) -> LiteralOption:
    column, value = same[0]
    values = [grid.stated.values[position] for position, _ in same]
    return LiteralOption(
        row=row,
        column=column,
        value=value,
        stated=grid.stated.values[column],
        spans=frozenset(one.span for one in values),
        probability=float(sum(probabilities[position] for position, _ in same)),
    )


def _assign_greedily(
    chosen: list[LiteralOption], thresholds: Floats, rows: Mapping[ParameterRow, int]
) -> dict[ParameterRow, LiteralOption]:
    assigned: dict[ParameterRow, LiteralOption] = {}
    used: set[tuple[int, int]] = set()
    for option in sorted(chosen, key=lambda one: -one.probability):
        threshold = thresholds[rows[option.row], option.column]
        if option.row in assigned or option.span in used or option.probability < threshold:
            continue
        used.add(option.span)
        assigned[option.row] = option
    return assigned


def _swap_opposed_pairs(
    assigned: Mapping[ParameterRow, LiteralOption],
    chosen: Sequence[LiteralOption],
    grid: FeatureGrid,
    rows: Mapping[ParameterRow, int],
) -> dict[ParameterRow, LiteralOption]:
    """Swap source and target into the order of the text unless their likelihood clearly objects.

    In "between Rome and Oslo", only the order distinguishes origin and destination.
    """
    ends = []
    for word in ("from", "to"):
        matching = [
            row for row in assigned if _matches_preposition(grid.parameters[rows[row]], word)
        ]
        if len(matching) != 1:
            return {}
        ends.append(matching[0])
    start, end = ends
    first, last = assigned[start], assigned[end]
    if first.stated.start < last.stated.start:
        return {}
    by_span = {(option.row, option.span): option for option in chosen}
    swapped = by_span.get((start, last.span)), by_span.get((end, first.span))
    if swapped[0] is None or swapped[1] is None:
        return {}
    swapped_probability = swapped[0].probability * swapped[1].probability
    if first.probability * last.probability >= CLEAR_LIKELIHOOD_RATIO * swapped_probability:
        return {}
    return {start: swapped[0], end: swapped[1]}


def _assign_transfer_pair(
    assigned: Mapping[ParameterRow, LiteralOption],
    chosen: Sequence[LiteralOption],
    grid: FeatureGrid,
    rows: Mapping[ParameterRow, int],
) -> dict[ParameterRow, LiteralOption]:
    """Assign source and target of a transfer stated as "a.txt to /srv/x", if unambiguous."""
    ends = [
        {o.row for o in chosen if _matches_preposition(grid.parameters[rows[o.row]], word)}
        for word in ("from", "to")
    ]
    starts, targets = ends
    if len(starts) != 1 or len(targets) != 1 or (starts | targets) & assigned.keys():
        return {}
    text = grid.stated.text
    pairs = [
        (one, other)
        for one in chosen
        for other in chosen
        if one.row in starts
        and other.row in targets
        and one.stated.kind is other.stated.kind is ValueKind.PATH
        and _TO_PREPOSITION.fullmatch(text, one.stated.end, other.stated.start)
        and min(one.probability, other.probability) >= MIN_TRANSFER_PROBABILITY
    ]
    if len(pairs) != 1:
        return {}
    return {
        o.row: replace(o, probability=max(TRANSFER_CONFIDENCE, o.probability)) for o in pairs[0]
    }


def _matches_preposition(parameter: ToolParameter, word: str) -> bool:
    opposite = PREPOSITIONS[OPPOSITE_PREPOSITIONS[word]]
    return bool(parameter.name_words & PREPOSITIONS[word]) and not parameter.name_words & opposite


def _to_bound_argument(option: LiteralOption) -> BoundArgument:
    return BoundArgument(
        value=option.value,
        source=BindingSource.LITERAL,
        evidence=_describe_evidence(option.stated),
        confidence=min(1.0, option.probability),
        stated=option.stated,
    )


def _describe_evidence(stated: StatedValue) -> str:
    unit = f" {stated.unit}" if stated.unit and stated.unit not in stated.text else ""
    return f"the intent states “{stated.text}{unit}”"


def _share_among_tasks(
    steps: Sequence[BindingStep],
    grid: FeatureGrid,
    probabilities: Floats,
    rows: Mapping[ParameterRow, int],
) -> dict[ParameterRow, LiteralOption]:
    """Distribute values of one kind over the tasks of a tool, in the order of the text."""
    tasks: dict[int, list[int]] = defaultdict(list)
    for position, step in enumerate(steps):
        tasks[step.tool.pk].append(position)
    shared: dict[ParameterRow, LiteralOption] = {}
    for places in tasks.values():
        if len(places) < 2:
            continue
        for name in grid.schemas[places[0]].parameters:
            own = [rows[position, name] for position in places if (position, name) in rows]
            if len(own) == len(places):
                shared |= _share_values(grid, probabilities, own)
    return shared


def _share_values(
    grid: FeatureGrid, probabilities: Floats, own: list[int]
) -> dict[ParameterRow, LiteralOption]:
    parameter = grid.parameters[own[0]]
    mean = probabilities[own].mean(axis=0)
    found_places = find_equal_fits(grid, mean, parameter)[: len(own)]
    if len(found_places) < len(own):
        return {}
    total = float(mean[found_places].sum())
    ordered = sorted(found_places, key=lambda column: grid.stated.values[column].start)
    found = {}
    for position, column in zip(own, ordered, strict=True):
        value = grid.stated.values[column]
        row = (int(grid.owners[position]), parameter.name)
        found[row] = LiteralOption(
            row=row,
            column=column,
            value=arguments.convert_value(parameter, value),
            stated=value,
            spans=frozenset([value.span]),
            probability=total,
        )
    return found


def find_equal_fits(
    grid: FeatureGrid, probabilities: Floats, parameter: ToolParameter
) -> list[int]:
    """Return the indices of values that fit a parameter about equally well.

    The items of a list if the likeliest value is one of them; otherwise values of the same kind,
    the likeliest first, or only the likeliest for an imprecise kind.
    """
    values = grid.stated.values
    best = int(np.argmax(probabilities[:-1])) if values else -1
    if best < 0 or probabilities[best] < MIN_SEVERAL_PROBABILITY:
        return []
    for one in values:
        if (
            one.kind is ValueKind.LIST
            and one.start <= values[best].start
            and values[best].end <= one.end
        ):
            parts = [_find_value_position(values, part) for part in one.parts]
            fits = [arguments.convert_value(parameter, values[p]) for p in parts if p is not None]
            is_possible = all(p is not None and probabilities[p] > 0 for p in parts)
            if is_possible and all(v is not arguments.NOT_CONVERTIBLE for v in fits):
                return [part for part in parts if part is not None]
    return _values_of_one_kind(grid, probabilities, parameter)


def _find_value_position(values: Sequence[StatedValue], part: StatedValue) -> int | None:
    return next((n for n, one in enumerate(values) if one == part), None)


def are_values_listed(grid: FeatureGrid, places: Sequence[int]) -> bool:
    """Whether a conjunction joins values into one list; commas alone may be part of one value."""
    values = [grid.stated.values[position] for position in places]
    return any(
        one.kind is ValueKind.LIST and list(one.parts) == values for one in grid.stated.values
    ) and are_listed_together(grid.stated.text, values[-2], values[-1])


def _values_of_one_kind(
    grid: FeatureGrid, probabilities: Floats, parameter: ToolParameter
) -> list[int]:
    values = grid.stated.values
    found: list[int] = []
    seen: set[str] = set()
    for column in np.argsort(-probabilities[:-1], kind="stable")[: 3 * MAX_OPTIONS]:
        value = values[column]
        first = values[found[0]] if found else value
        threshold = (
            MIN_LIKELIHOOD_RATIO * probabilities[found[0]] if found else MIN_SEVERAL_PROBABILITY
        )
        if first.kind in IMPRECISE_KINDS or probabilities[column] < max(
            threshold, MIN_SEVERAL_PROBABILITY
        ):
            break
        fits = arguments.convert_value(parameter, value) is not arguments.NOT_CONVERTIBLE
        is_disjoint = all(
            value.end <= values[f].start or values[f].end <= value.start for f in found
        )
        if value.kind is first.kind and fits and is_disjoint and value.equality_key not in seen:
            seen.add(value.equality_key)
            found.append(int(column))
    return found
