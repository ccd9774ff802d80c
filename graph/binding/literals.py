"""Choose which of the values that an intent states go where."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.binding import arguments, coordinated
from graph.binding.found import Found
from graph.binding.guard import allowed
from graph.binding.steps import Source
from graph.binding.value_patterns import Kind
from graph.binding.values import StatedValue, normal
from graph.binding.vocabulary import OPPOSED, PREPOSITIONS

if TYPE_CHECKING:
    from graph.binding.features import Grid
    from graph.binding.schemas import Parameter
    from graph.binding.steps import Step

Floats = NDArray[np.float64]

BEST = 8
"""Values of a parameter that are looked at, the likeliest."""
WORTH = 0.02
"""Probability below which a value is not looked at."""
AS_LIKELY = 0.25
"""Share of the likeliest value's probability from which on another may stand beside it."""
CREDIBLE = 0.04
"""Probability below which a value is never one of several asked for."""
PLAUSIBLE = 0.15
"""Probability from which on two paths may be where something comes from and where it goes."""
CARRIED = 0.6
"""Confidence in both where the text joins them by "to"."""
_TO: Final = re.compile(r"['\"”’`]?\s+(?:in)?to\s+['\"“‘`]?")  # noqa: RUF001 - as typed
CLEARLY = 2.0
"""Times likelier that where from and where to must be to stand against the order of the text."""
LOOSE: Final = frozenset({Kind.PHRASE, Kind.WORD, Kind.NUMBER_WORD, Kind.LIST})
"""Kinds of which a text has many: they never show that something is asked several times."""

Row = tuple[int, str]
"""Place of a step, and the name of one of its parameters."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """A value for a parameter of a step.

    Attributes:
        row: What it is for.
        column: Place of the likeliest value among those stated.
        value: As it would be given.
        stated: The likeliest of the places where the intent states it.
        spans: All of those places.
        probability: Of all of them together.
    """

    row: Row
    column: int
    value: Any
    stated: StatedValue
    spans: frozenset[tuple[int, int]]
    probability: float

    @property
    def span(self) -> tuple[int, int]:
        """Where the intent states it."""
        return (self.stated.start, self.stated.end)


def literals(
    steps: Sequence[Step],
    *,
    compared: Grid,
    probabilities: Floats,
    bars: Floats,
    without: Collection[Row] = (),
) -> dict[Row, Found]:
    """Choose stated values for the parameters of some steps.

    The surest first; what stands once in the intent serves one parameter of a step. Where a tool
    stands several times, its tasks share several values of a kind among them, in the order of
    the text.

    Args:
        steps: In the order they run.
        compared: Their parameters against the values.
        probabilities: What the model says of it.
        bars: `(p, n)` from which probability on each value is bound; see `guard`.
        without: Parameters that get their value elsewhere.
    """
    rows = _rows(compared, without)
    probabilities = allowed(probabilities, bars)
    shared = _shared(steps, compared, probabilities, rows)
    lowest = bars.min(axis=1, initial=1.0)
    hopeful = probabilities[:, :-1].sum(axis=1) >= lowest
    found: dict[Row, Found] = {}
    by_step: dict[int, list[Option]] = defaultdict(list)
    for row, place in rows.items():
        if row in shared:
            by_step[row[0]].append(shared[row])
        elif hopeful[place]:
            by_step[row[0]] += options(compared, probabilities, place)
    for chosen in by_step.values():
        picked = _greedy(chosen, bars, rows)
        picked |= _in_order_of_text(picked, chosen, compared, rows)
        picked |= _carried(picked, chosen, compared, rows)
        found |= {row: _found(option) for row, option in picked.items()}
    return found


def _rows(compared: Grid, without: Collection[Row]) -> dict[Row, int]:
    rows = {
        (int(owner), parameter.name): place
        for place, (owner, parameter) in enumerate(
            zip(compared.owners, compared.parameters, strict=True)
        )
    }
    return {row: place for row, place in rows.items() if row not in without}


def options(compared: Grid, probabilities: Floats, place: int) -> list[Option]:
    """Return the likeliest values of a parameter; those that come to the same are one."""
    parameter = compared.parameters[place]
    likely = probabilities[place, :-1]
    by_value: dict[str, list[tuple[int, Any]]] = {}
    best = np.argsort(-likely, kind="stable")[:BEST]
    for column in best[likely[best] > WORTH]:
        value = arguments.as_argument(parameter, compared.stated.values[column])
        if value is not arguments.NOTHING:
            by_value.setdefault(normal(value), []).append((int(column), value))
    row = (int(compared.owners[place]), parameter.name)
    return [_option(row, compared, likely, same) for same in by_value.values()]


def _option(row: Row, compared: Grid, likely: Floats, same: list[tuple[int, Any]]) -> Option:
    column, value = same[0]
    values = [compared.stated.values[place] for place, _ in same]
    return Option(
        row=row,
        column=column,
        value=value,
        stated=compared.stated.values[column],
        spans=frozenset((one.start, one.end) for one in values),
        probability=float(sum(likely[place] for place, _ in same)),
    )


def _greedy(chosen: list[Option], bars: Floats, rows: Mapping[Row, int]) -> dict[Row, Option]:
    picked: dict[Row, Option] = {}
    used: set[tuple[int, int]] = set()
    for option in sorted(chosen, key=lambda one: -one.probability):
        enough = bars[rows[option.row], option.column]
        if option.row in picked or option.span in used or option.probability < enough:
            continue
        used.add(option.span)
        picked[option.row] = option
    return picked


def _in_order_of_text(
    picked: Mapping[Row, Option],
    chosen: Sequence[Option],
    compared: Grid,
    rows: Mapping[Row, int],
) -> dict[Row, Option]:
    """Turn where from and where to around, if the text names them so and little speaks against.

    "Between Rome and Oslo" has no word that tells origin from destination but their order.
    """
    ends = []
    for word in ("from", "to"):
        of_word = [row for row in picked if _speaks(compared.parameters[rows[row]], word)]
        if len(of_word) != 1:
            return {}
        ends.append(of_word[0])
    start, end = ends
    first, last = picked[start], picked[end]
    if first.stated.start < last.stated.start:
        return {}
    known = {(option.row, option.span): option for option in chosen}
    turned = known.get((start, last.span)), known.get((end, first.span))
    if turned[0] is None or turned[1] is None:
        return {}
    likely = turned[0].probability * turned[1].probability
    if first.probability * last.probability >= CLEARLY * likely:
        return {}
    return {start: turned[0], end: turned[1]}


def _carried(
    picked: Mapping[Row, Option],
    chosen: Sequence[Option],
    compared: Grid,
    rows: Mapping[Row, int],
) -> dict[Row, Option]:
    """Return where from and where to, if the text has both as "a.txt to /srv/x", and once."""
    ends = [
        {o.row for o in chosen if _speaks(compared.parameters[rows[o.row]], word)}
        for word in ("from", "to")
    ]
    starts, targets = ends
    if len(starts) != 1 or len(targets) != 1 or (starts | targets) & picked.keys():
        return {}
    text = compared.stated.text
    pairs = [
        (one, other)
        for one in chosen
        for other in chosen
        if one.row in starts
        and other.row in targets
        and one.stated.kind is other.stated.kind is Kind.PATH
        and _TO.fullmatch(text, one.stated.end, other.stated.start)
        and min(one.probability, other.probability) >= PLAUSIBLE
    ]
    if len(pairs) != 1:
        return {}
    return {o.row: replace(o, probability=max(CARRIED, o.probability)) for o in pairs[0]}


def _speaks(parameter: Parameter, word: str) -> bool:
    other = PREPOSITIONS[OPPOSED[word]]
    return bool(parameter.words & PREPOSITIONS[word]) and not parameter.words & other


def _found(option: Option) -> Found:
    return Found(
        value=option.value,
        source=Source.LITERAL,
        evidence=_evidence(option.stated),
        confidence=min(1.0, option.probability),
        stated=option.stated,
    )


def _evidence(stated: StatedValue) -> str:
    unit = f" {stated.unit}" if stated.unit and stated.unit not in stated.text else ""
    return f"the intent states “{stated.text}{unit}”"


def _shared(
    steps: Sequence[Step], compared: Grid, probabilities: Floats, rows: Mapping[Row, int]
) -> dict[Row, Option]:
    """Share values of a kind among the tasks of a tool, in the order of the text."""
    tasks: dict[int, list[int]] = defaultdict(list)
    for place, step in enumerate(steps):
        tasks[step.tool.pk].append(place)
    shared: dict[Row, Option] = {}
    for places in tasks.values():
        if len(places) < 2:
            continue
        for name in compared.schemas[places[0]].parameters:
            own = [rows[place, name] for place in places if (place, name) in rows]
            if len(own) == len(places):
                shared |= _shares(compared, probabilities, own)
    return shared


def _shares(compared: Grid, probabilities: Floats, own: list[int]) -> dict[Row, Option]:
    parameter = compared.parameters[own[0]]
    mean = probabilities[own].mean(axis=0)
    found_places = several(compared, mean, parameter)[: len(own)]
    if len(found_places) < len(own):
        return {}
    total = float(mean[found_places].sum())
    ordered = sorted(found_places, key=lambda column: compared.stated.values[column].start)
    found = {}
    for place, column in zip(own, ordered, strict=True):
        one = compared.stated.values[column]
        row = (int(compared.owners[place]), parameter.name)
        found[row] = Option(
            row=row,
            column=column,
            value=arguments.as_argument(parameter, one),
            stated=one,
            spans=frozenset([(one.start, one.end)]),
            probability=total,
        )
    return found


def several(compared: Grid, likely: Floats, parameter: Parameter) -> list[int]:
    """Return the places of values that fit a parameter about equally well.

    Those listed side by side, if the likeliest is one of them; else those of one kind, the
    likeliest first, none where that is a kind that texts are full of.
    """
    values = compared.stated.values
    best = int(np.argmax(likely[:-1])) if values else -1
    if best < 0 or likely[best] < CREDIBLE:
        return []
    for one in values:
        if (
            one.kind is Kind.LIST
            and one.start <= values[best].start
            and values[best].end <= one.end
        ):
            parts = [_place(values, part) for part in one.parts]
            fits = [arguments.as_argument(parameter, values[p]) for p in parts if p is not None]
            may = all(p is not None and likely[p] > 0 for p in parts)
            if may and all(v is not arguments.NOTHING for v in fits):
                return [part for part in parts if part is not None]
    return _of_one_kind(compared, likely, parameter)


def _place(values: Sequence[StatedValue], part: StatedValue) -> int | None:
    return next((n for n, one in enumerate(values) if one == part), None)


def listed(compared: Grid, places: Sequence[int]) -> bool:
    """Whether a conjunction joins values into one list; commas alone may part a place's name."""
    values = [compared.stated.values[place] for place in places]
    return any(
        one.kind is Kind.LIST and list(one.parts) == values for one in compared.stated.values
    ) and coordinated.are_joined(compared.stated.text, values[-2], values[-1])


def _of_one_kind(compared: Grid, likely: Floats, parameter: Parameter) -> list[int]:
    values = compared.stated.values
    found: list[int] = []
    seen: set[str] = set()
    for column in np.argsort(-likely[:-1], kind="stable")[: 3 * BEST]:
        one = values[column]
        first = values[found[0]] if found else one
        enough = AS_LIKELY * likely[found[0]] if found else CREDIBLE
        if first.kind in LOOSE or likely[column] < max(enough, CREDIBLE):
            break
        fits = arguments.as_argument(parameter, one) is not arguments.NOTHING
        apart = all(one.end <= values[f].start or values[f].end <= one.start for f in found)
        if one.kind is first.kind and fits and apart and one.key not in seen:
            seen.add(one.key)
            found.append(int(column))
    return found
