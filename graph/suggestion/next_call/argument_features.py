"""Describe the arguments of a candidate by numbers: where each value comes from, and what else is
there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from graph.suggestion.next_call.candidates import Candidate, Choice, share_item
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.session import Occurrence, SessionState, Source


class MeasuredSource(NamedTuple):
    """How often values from one source led to the call.

    Attributes:
        chance: Share that did, in [0, 1].
        observed: How often such a value was there.
        chance_after: Share that did after such a last call; 1 for a value of the schema.
    """

    chance: float
    observed: float
    chance_after: float


class ListUse(NamedTuple):
    """The values of one list as one argument of a tool.

    Attributes:
        places: Place of each value, by the id of its occurrence.
        used: Whether each was this argument since the last invalidation.
        share_used: Share of them that was.
        was_asked: Whether the last call asked for one of them: 1 or 0.
    """

    places: Mapping[int, int]
    used: Sequence[bool]
    share_used: float
    was_asked: float


class ArgumentFeatures(NamedTuple):
    """The features of a candidate that its arguments decide.

    Attributes:
        origin: From `arguments` to `used_before`, in the order of `chance.FEATURES`.
        coherence: Share of neighbouring arguments that come from one item.
        chance_after: Least share of values from these sources that led to the call after such a
            last call; None: no value is of the session.
        clause_distance: Mean number of clauses between what speaks of the tool and the values
            stated for it; -1 without either.
        named_values: How many values of the schema the client named, less those chosen instead.
    """

    origin: list[float]
    coherence: float
    chance_after: float | None
    clause_distance: float
    named_values: float


class ArgumentDescriber:
    """Describes the arguments of the candidates of one tool, at one point of a session.

    What its candidates share is measured once.
    """

    def __init__(self, state: SessionState, model: NextCallModel, tool: int) -> None:
        self._state = state
        self._model = model
        self._tool = tool
        self._newest = len(state.order) - 1
        self._clause = state.stated_clauses.get(tool)
        self._calls = [(at, state.calls[at]) for at in state.calls_of.get(tool, ())]
        self._sources: dict[tuple[str, Source, bool], MeasuredSource] = {}
        self._lists: dict[tuple[str, Source, int], ListUse] = {}

    def describe(self, candidate: Candidate) -> ArgumentFeatures:
        """Describe one candidate of the tool."""
        choices = candidate.choices
        placed = [choice for choice in choices if choice.occurrence is not None]
        measured = [self._measure_source(choice) for choice in choices]
        return ArgumentFeatures(
            [
                *_describe_shares(candidate, measured),
                *_describe_similarity(choices, placed),
                *self._describe_items(placed),
                *self._describe_values(choices, placed),
                *self._count_equal_calls(candidate),
            ],
            _measure_coherence(placed),
            min([source.chance_after for source in measured]) if placed else None,
            self._measure_clause_distance(choices),
            sum([2 * c.fits_shape - 1 for c in choices if c.occurrence is None]),
        )

    def _measure_source(self, choice: Choice) -> MeasuredSource:
        place = choice.occurrence
        if place is None:
            return MeasuredSource(1.0, choice.observed, 1.0)
        key = choice.name, place.source, place.step == self._newest
        found = self._sources.get(key)
        if found is None:
            found = self._sources[key] = self._count_source(*key)
        return found

    def _count_source(self, name: str, source: Source, is_newest: bool) -> MeasuredSource:
        count, tool, last = self._model.counts.get, self._tool, self._state.order[-1]
        there = count(("chance", tool, name, source, is_newest), 0)
        chance = (count(("chance+", tool, name, source, is_newest), 0) + 2 * 0.1) / (there + 2)
        used_after = count(("chance after+", tool, name, source, last), 0) + 3 * chance
        there_after = count(("chance after", tool, name, source, last), 0)
        return MeasuredSource(chance, there, used_after / (there_after + 3))

    def _describe_items(self, placed: Sequence[Choice]) -> tuple[float, ...]:
        """Describe the place of a value in its list, and which of its siblings were asked for.

        The argument from the list with the most items decides.
        """
        lead: Occurrence | None = None
        name = ""
        for choice in placed:
            occurrence = choice.occurrence
            if occurrence and (lead is None or occurrence.siblings > lead.siblings):
                lead, name = occurrence, choice.name
        if lead is None:
            return 0.0, 0.0, 0.0, 0.0, 0.0
        key = name, lead.source, lead.step
        use = self._lists.get(key)
        if use is None:
            use = self._lists[key] = self._measure_list(*key)
        place = use.places.get(id(lead), 0)
        follows_used = place > 0 and use.used[place - 1] and not use.used[place]
        return (
            math.log1p(lead.siblings),
            math.log1p(place),
            use.share_used,
            float(follows_used),
            use.was_asked,
        )

    def _measure_list(self, name: str, source: Source, step: int) -> ListUse:
        state, tool = self._state, self._tool
        siblings = [o for o in state.by_source[source][-64:] if o.step == step]
        used = [(tool, name, o.number) in state.used_since_write for o in siblings]
        last = state.calls[-1] if state.calls else None
        asked = last.arguments.get(name) if last and last.tool == tool else None
        return ListUse(
            {id(occurrence): place for place, occurrence in enumerate(siblings)},
            used,
            sum(used) / len(used),
            float(asked is not None and any(o.number == asked for o in siblings)),
        )

    def _describe_values(
        self, choices: Sequence[Choice], placed: Sequence[Choice]
    ) -> tuple[float, ...]:
        if not placed:
            return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, float(bool(choices)), 0.0
        state = self._state
        found = [choice.occurrence for choice in placed if choice.occurrence is not None]
        steps = [occurrence.step for occurrence in found]
        stated = [state.stated_numbers.get(occurrence.number, -1) for occurrence in found]
        kinds = [occurrence.source[0] for occurrence in found]
        return (
            math.log1p(self._newest - min(steps)),
            float(max(steps) == self._newest),
            float(min(stated) >= 0),
            float(state.last_statement >= 0 and state.last_statement in stated),
            float("stated" in kinds),
            float("argument" in kinds),
            float(len(placed) < len(choices)),
            math.log1p(min([len(state.by_number[occurrence.number]) for occurrence in found])),
        )

    def _count_equal_calls(self, candidate: Candidate) -> tuple[float, float]:
        """Return whether exactly this call is answered and valid, and how often it was made."""
        made = [
            at
            for at, call in self._calls
            if matches_call(candidate, call.arguments, call.schema_arguments)
        ]
        if not made:
            return 0.0, 0.0
        is_answered = made[-1] >= len(self._state.calls) - len(self._state.since_write)
        return float(is_answered), float(min(3, len(made)))

    def _measure_clause_distance(self, choices: Sequence[Choice]) -> float:
        clause = self._clause
        if clause is None:
            return -1.0
        clauses = self._state.clause_of_number
        stated = [clauses[c.number] for c in choices if c.number in clauses]
        if not stated:
            return -1.0
        return sum([min(3, abs(clause - other)) for other in stated]) / len(stated)


def _describe_shares(
    candidate: Candidate, measured: Sequence[MeasuredSource]
) -> tuple[float, ...]:
    """Describe how likely the values are, and how often such values led to the call."""
    shares = [choice.share for choice in candidate.choices]
    product = math.prod(shares)
    if not shares:
        return 0.0, candidate.share, math.log(1 + 1e-6), 1.0, -1.0, 0.0, 0.0
    chance, observed, _ = min(measured)
    return (
        float(len(shares)),
        candidate.share / (product or 1.0),
        math.log(product + 1e-6),
        min(shares),
        chance,
        math.log(chance + 0.01),
        math.log1p(observed),
    )


def _describe_similarity(
    choices: Sequence[Choice], placed: Sequence[Choice]
) -> tuple[float, float, float]:
    """Describe how well names and shapes fit."""
    fits = min([choice.fits_shape for choice in choices], default=1.0)
    if not placed:
        return 1.0, 1.0, fits
    similarities = [choice.similarity for choice in placed]
    return min(similarities), sum(similarities) / len(similarities), fits


def matches_call(
    candidate: Candidate, arguments: Mapping[str, int], positions: Mapping[str, int]
) -> bool:
    """Return whether a call has exactly these arguments."""
    if len(candidate.choices) != len({*arguments, *positions}):
        return False
    return all(
        (c.number is not None and arguments.get(c.name) == c.number)
        or (c.position is not None and positions.get(c.name) == c.position)
        for c in candidate.choices
    )


def _measure_coherence(placed: Sequence[Choice]) -> float:
    if len(placed) < 2:
        return 1.0
    together = [share_item(a.occurrence, b.occurrence) for a, b in pairwise(placed)]
    return sum(together) / len(together)
