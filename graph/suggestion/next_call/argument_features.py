"""Describe the arguments of a candidate: where each value comes from, and what else is there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Final, NamedTuple

from graph.suggestion.next_call.candidates import share_item
from graph.suggestion.next_call.model import NextCallModel
from graph.suggestion.next_call.occurrence import Candidate, Choice, Occurrence, Source
from graph.suggestion.next_call.session import SessionState

_NEUTRAL_LEAST: Final = (math.inf,) * 5
_NEUTRAL_MOST: Final = (0.0,) * 5
_WITHOUT_ARGUMENTS: Final = (math.log(1 + 1e-6), 1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 1.0, *(0.0,) * 13)
"""From `share_product` to `times_seen`."""


class ChoiceFeatures(NamedTuple):
    """What one value adds to the features of a candidate.

    Of a value of the schema, what only a value of the session has is the neutral element.

    Attributes:
        source: Share of values from its source that led to the call, and how often there was one.
        least: Features of which the least of all arguments counts: share, fit of the shape,
            similarity, whether it was stated, how often it was seen, and the share of values from
            its source that led to the call after such a last call, also as log-odds.
        most: Features of which the greatest counts: steps back, whether it is of the newest step,
            whether the last statement named it, whether it is from a statement or an argument.
    """

    source: tuple[float, float]
    least: tuple[float, ...]
    most: tuple[float, ...]


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


class ArgumentDescriber:
    """Describes the arguments of the candidates of one tool, at one point of a session.

    What its candidates share is measured once.
    """

    def __init__(
        self, state: SessionState, model: NextCallModel, tool: int, *, after_last: float
    ) -> None:
        """Prepare to describe.

        Args:
            state: The session.
            model: What past sessions taught.
            tool: The tool.
            after_last: Log-odds that the tool comes after such a last call, whatever its
                arguments.
        """
        self._state = state
        self._model = model
        self._tool = tool
        self._after = 1 / (1 + math.exp(-after_last)), after_last
        self._newest = len(state.order) - 1
        names = state.tools.tools[tool].parameters
        self._ranks = {name: rank for rank, name in enumerate(names)}
        self._calls = [(at, state.calls[at]) for at in state.calls_of.get(tool, ())]
        self._sources: dict[tuple[str, Source, int], tuple[float, float, float, float]] = {}
        self._lists: dict[tuple[str, Source, int], ListUse] = {}
        self._choices: dict[int, ChoiceFeatures] = {}

    def describe(self, candidate: Candidate) -> list[float]:
        """Return the features of one candidate of the tool, from `arguments` to `repeated`."""
        choices = candidate.choices
        is_answered = float(self._is_answered(candidate))
        if not choices:
            none = [0.0, candidate.share, *_WITHOUT_ARGUMENTS]
            return [*none, is_answered, 1.0, *self._after, 0.0, 0.0, 0.0]
        (chance, observed), least, most = self._describe_choices(choices)
        share, fits, similarity, is_stated, seen = least[:5]
        product = math.prod([choice.share for choice in choices])
        placed = [choice for choice in choices if choice.occurrence is not None]
        if not placed:
            similarity, is_stated, seen = 1.0, 0.0, 0.0
        return [
            float(len(choices)),
            candidate.share / (product or 1.0),
            math.log(product + 1e-6),
            share,
            chance,
            math.log(chance + 0.01),
            math.log1p(observed),
            similarity,
            sum([c.similarity for c in placed]) / len(placed) if placed else 1.0,
            fits,
            *self._describe_items(placed),
            most[0],
            most[1],
            is_stated,
            *most[2:],
            float(len(placed) < len(choices)),
            seen,
            is_answered,
            _measure_coherence(placed) if len(placed) > 1 else 1.0,
            *(least[5:] if placed else self._after),
            _count_named(choices) if len(placed) < len(choices) else 0.0,
            self._measure_order(placed) if len(placed) > 1 else 0.0,
            float(len(placed) - len({choice.number for choice in placed})),
        ]

    def _describe_choices(self, choices: Sequence[Choice]) -> ChoiceFeatures:
        found = [self._choices.get(id(c)) or self._describe_choice(c) for c in choices]
        if len(found) == 1:
            return found[0]
        sources, least, most = zip(*found, strict=True)
        return ChoiceFeatures(min(sources), tuple(map(min, *least)), tuple(map(max, *most)))

    def _describe_choice(self, choice: Choice) -> ChoiceFeatures:
        state, place = self._state, choice.occurrence
        if place is None:
            schema = (choice.share, choice.fits_shape, *_NEUTRAL_LEAST)
            found = ChoiceFeatures((1.0, choice.observed), schema, _NEUTRAL_MOST)
        else:
            chance, observed, *found_after = self._measure_source(choice.name, place)
            stated_at = state.stated_numbers.get(place.number, -1)
            found = ChoiceFeatures(
                (chance, observed),
                (
                    choice.share,
                    choice.fits_shape,
                    choice.similarity,
                    float(stated_at >= 0),
                    math.log1p(len(state.by_number[place.number])),
                    *found_after,
                ),
                (
                    math.log1p(self._newest - place.step),
                    float(place.step == self._newest),
                    float(stated_at >= 0 and stated_at == state.last_statement),
                    float(place.source[0] == "stated"),
                    float(place.source[0] == "argument"),
                ),
            )
        self._choices[id(choice)] = found
        return found

    def _measure_source(self, name: str, place: Occurrence) -> tuple[float, float, float, float]:
        """Return which share of values from a source led to the call, and of how many.

        Last, which share did after such a last call, also as log-odds.
        """
        key = name, place.source, place.step
        found = self._sources.get(key)
        if found is None:
            is_newest = place.step == self._newest
            found = self._sources[key] = self._count_source(name, place.source, is_newest)
        return found

    def _count_source(
        self, name: str, source: Source, is_newest: bool
    ) -> tuple[float, float, float, float]:
        count, tool, last = self._model.counts.get, self._tool, self._state.order[-1]
        there = count(("chance", tool, name, source, is_newest), 0)
        chance = (count(("chance+", tool, name, source, is_newest), 0) + 2 * 0.1) / (there + 2)
        used_after = count(("chance after+", tool, name, source, last), 0) + 3 * chance
        there_after = count(("chance after", tool, name, source, last), 0)
        after = used_after / (there_after + 3)
        return chance, there, after, compute_logit(after)

    def _describe_items(self, placed: Sequence[Choice]) -> tuple[float, ...]:
        """Describe the place of a value in its list, and which of its siblings were asked for.

        The argument from the list with the most items decides.
        """
        lead = _find_lead(placed)
        place = lead.occurrence if lead else None
        if lead is None or place is None:
            return 0.0, 0.0, 0.0, 0.0, 0.0
        key = lead.name, place.source, place.step
        use = self._lists.get(key)
        if use is None:
            use = self._lists[key] = self._measure_list(*key)
        at = use.places.get(id(place), 0)
        return (
            math.log1p(place.siblings),
            math.log1p(at),
            use.share_used,
            float(at > 0 and use.used[at - 1] and not use.used[at]),
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

    def _is_answered(self, candidate: Candidate) -> bool:
        """Return whether exactly this call was answered since the last invalidation."""
        valid_from = len(self._state.calls) - self._state.calls_since_write
        return any(
            at >= valid_from and matches_call(candidate, call.arguments, call.schema_arguments)
            for at, call in self._calls
        )

    def _measure_order(self, placed: Sequence[Choice]) -> float:
        """Return which share of pairs of one source has the order of the parameters.

        Less the share that has not.
        """
        ranks = self._ranks
        found = [
            1 if (ranks[a.name] < ranks[b.name]) == (_find_place(a) < _find_place(b)) else -1
            for a, b in combinations(placed, 2)
            if a.occurrence
            and b.occurrence
            and a.occurrence.source == b.occurrence.source
            and a.number != b.number
        ]
        return sum(found) / len(found) if found else 0.0


def _find_lead(placed: Sequence[Choice]) -> Choice | None:
    """Return the argument that comes from the list with the most items."""
    if len(placed) < 2:
        return placed[0] if placed else None
    return max(placed, key=lambda c: c.occurrence.siblings if c.occurrence else 0)


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
    """Return which share of neighbouring arguments comes from one item."""
    together = [share_item(a.occurrence, b.occurrence) for a, b in pairwise(placed)]
    return sum(together) / len(together)


def _find_place(choice: Choice) -> tuple[int, tuple[int, ...]]:
    place = choice.occurrence
    return (place.step, place.items) if place else (-1, ())


def _count_named(choices: Sequence[Choice]) -> float:
    """Return how many values of the schema the client named, less those chosen instead."""
    return sum([2 * choice.fits_shape - 1 for choice in choices if choice.occurrence is None])


def compute_logit(share: float) -> float:
    """Return the log-odds of a share, bounded."""
    bounded = min(max(share, 1e-3), 1 - 1e-3)
    return math.log(bounded / (1 - bounded))
