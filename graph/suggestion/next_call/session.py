"""A session as prediction sees it: its calls, statements and the values that they named."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from graph.suggestion.next_call.call import CompletedCall, PlannedCall
from graph.suggestion.next_call.observation import (
    CallObservation,
    ObservedPlan,
    ObservedStatement,
    PlacedValue,
)
from graph.suggestion.next_call.occurrence import Choice, Occurrence, Source
from graph.suggestion.next_call.profiles import GENERIC_STEMS, ToolProfiles, stem_name
from graph.suggestion.next_call.results import read_leaves
from graph.suggestion.next_call.shapes import describe_value, make_value_key
from graph.suggestion.next_call.statements import (
    find_parameter_stems,
    read_statement,
)

MAX_CALLS = 200
"""Calls of a session that are remembered; the next one begins it anew."""
MAX_NUMBERS = 20_000
"""Values of a session that are remembered."""
MAX_FOUND = 8
"""Tools in the answer to a statement that are remembered, the best."""
MAX_PLANNED = 8
"""Suggested calls for a statement that are remembered, the first."""
SCORE_DIGITS = 3

MAX_LATEST = 64
"""Values of one source that are looked at."""
MAX_STEPS = 4
"""Calls of one source that are looked back at."""

MAX_WEIGHED = 1_000
"""Sources of values of arguments whose choices are kept from one prediction to the next."""

STATEMENT: Final = -1
"""Stands for a statement in the order of calls."""
START: Final = 0
"""Stands for the start of the session in the order of calls."""

NOTHING_FOUND: Final[Mapping[int, float]] = MappingProxyType({})


class SessionState:
    """The calls and statements of one session, bounded; for one thread at a time.

    Built live from calls with `add_statement` and `add_call`, or from stored observations with
    `add_observation`: both leave the same structure, the second one without values.

    Attributes:
        tools: The catalogue; may be replaced when it changes.
        weighed: Choices for an argument of a tool from one source, as weighed by the last
            predictions, and how many values the source had then.
    """

    def __init__(self, tools: ToolProfiles) -> None:
        self.tools = tools
        self._reset()

    def _reset(self) -> None:
        self._numbers: dict[str, int] = {}
        self.values: list[Any] = []
        self.shapes: dict[int, str] = {}
        self.by_source: dict[Source, list[Occurrence]] = defaultdict(list)
        self.by_number: dict[int, list[Occurrence]] = defaultdict(list)
        self.stated_sources: dict[Source, list[Occurrence]] = {}
        self.sources_by_stem: dict[str, dict[Source, None]] = defaultdict(dict)
        self.recent: list[list[Occurrence]] = []
        self.order: list[int] = [START]
        self.calls: list[CallObservation] = []
        self.calls_of: dict[int, list[int]] = defaultdict(list)
        self.steps: list[int] = []
        self.used_since_write: set[tuple[int, str, int]] = set()
        self.counts_since_write: Counter[int] = Counter()
        self.calls_since_write = 0
        self.found_tools: dict[int, float] = {}
        self.planned: tuple[ObservedPlan, ...] = ()
        self.called_since_statement: set[int] = set()
        self.schema_words: frozenset[str] = frozenset()
        self.stated_numbers: dict[int, int] = {}
        self.last_statement = -1
        self._latest: dict[Source, Sequence[Occurrence]] = {}
        self._steps_of: dict[Source, list[int]] = {}
        self._found_sources: dict[frozenset[str], list[Source]] = {}
        self.weighed: dict[tuple[int, str, Source], tuple[int, list[Choice]]] = {}
        self._weighed_for: tuple[object, ...] = ()
        self._pending: list[ObservedStatement] = []
        self._reported = 0
        self._restarts = False

    def add_statement(
        self,
        text: str,
        found: Mapping[int, float] = NOTHING_FOUND,
        planned: Iterable[PlannedCall] = (),
    ) -> ObservedStatement:
        """Take in what the client said: a query, an intent, or its user's words.

        Args:
            text: The words.
            found: Tools in the answer to them, best first, each with the probability that it is
                needed.
            planned: Calls of the workflow suggested for them, in their order.
        """
        values = []
        for stated in read_statement(text):
            number = self._intern(stated.value)
            if number is not None:
                near = find_parameter_stems(stated, self.tools.parameter_stems)
                values.append((stated.shape, near, number))
        statement = ObservedStatement(
            tuple(values),
            self.tools.find_schema_words(text),
            {tool: round(p, SCORE_DIGITS) for tool, p in islice(found.items(), MAX_FOUND)},
            tuple(self._read_plan(one) for one in islice(planned, MAX_PLANNED)),
        )
        self.add_observed_statement(statement)
        self._pending.append(statement)
        return statement

    def add_call(self, call: CompletedCall) -> CallObservation:
        """Take in an answered call; return what it teaches."""
        if len(self.calls) >= MAX_CALLS or len(self.values) >= MAX_NUMBERS:
            self._reset()
            self._restarts = True
        arguments, schema_arguments, is_complete = self._read_arguments(call.tool, call.arguments)
        values = tuple(sorted(self._read_result(call), key=lambda value: value.path))
        observation = CallObservation(
            tool=call.tool,
            is_read_only=call.is_read_only,
            is_error=call.is_error,
            arguments=arguments,
            schema_arguments=schema_arguments,
            is_complete=is_complete,
            values=values,
            statements=tuple(self._pending),
            shapes={n: self.shapes[n] for n in range(self._reported, len(self.values))},
            duration_ms=round(call.duration_s * 1_000, 1),
            restarts=self._restarts,
        )
        self._restarts = False
        self._pending = []
        self._reported = len(self.values)
        self.add_observed_call(observation)
        return observation

    def _intern(self, value: Any) -> int | None:
        key = make_value_key(value)
        if key is None:
            return None
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.values)
            self.values.append(value)
            self.shapes[number] = describe_value(value)
        return number

    def _read_plan(self, planned: PlannedCall) -> ObservedPlan:
        numbers, positions, is_complete = self._read_arguments(planned.tool, planned.arguments)
        chance = round(planned.chance, SCORE_DIGITS)
        is_complete &= planned.is_complete
        return ObservedPlan(planned.tool, chance, numbers, positions, is_complete)

    def _read_arguments(
        self, tool: int, arguments: Mapping[str, Any]
    ) -> tuple[dict[str, int], dict[str, int], bool]:
        """Number the arguments; those that no parameter of the tool is named for are left out."""
        profile = self.tools.tools.get(tool)
        numbers: dict[str, int] = {}
        positions: dict[str, int] = {}
        is_complete = profile is not None
        for name, value in arguments.items():
            parameter = profile.parameters.get(name) if profile else None
            if parameter is None:
                is_complete = False
                continue
            position = find_position(parameter.schema_values, value)
            if position is not None:
                positions[name] = position
            number = self._intern(value)
            if number is not None:
                numbers[name] = number
            is_complete &= number is not None or position is not None
        return numbers, positions, is_complete

    def _read_result(self, call: CompletedCall) -> list[PlacedValue]:
        if call.is_error:
            return []
        found = []
        for leaf in read_leaves(call.result):
            number = self._intern(leaf.value)
            if number is not None:
                found.append(PlacedValue(leaf.path, leaf.items, number))
        return found

    def add_observed_statement(self, statement: ObservedStatement) -> None:
        """Take in a statement, as observed before or just now."""
        step = len(self.order)
        self.order.append(STATEMENT)
        self.last_statement = step
        self.found_tools = dict(statement.found)
        self.planned = statement.planned
        self.called_since_statement.clear()
        self.schema_words = statement.schema_words
        siblings = Counter(shape for shape, *_ in statement.values)
        found = []
        for index, (shape, near, number) in enumerate(statement.values):
            self.stated_numbers[number] = step
            found.append(
                Occurrence(("stated", 0, shape), step, (index,), siblings[shape], number, near)
            )
        found += [
            Occurrence(("planned", one.tool, name), step, (place,), 1, number)
            for place, one in enumerate(statement.planned)
            for name, number in one.arguments.items()
        ]
        self._add_occurrences(found)

    def add_observed_call(self, observation: CallObservation) -> None:
        """Take in a call, as observed before or just now."""
        self.shapes.update(observation.shapes)
        step = len(self.order)
        self.order.append(observation.tool)
        self.called_since_statement.add(observation.tool)
        self.calls_of[observation.tool].append(len(self.calls))
        self.calls.append(observation)
        self.steps.append(step)
        if not observation.is_read_only:
            self.used_since_write.clear()
            self.counts_since_write.clear()
            self.calls_since_write = 0
        else:
            self.calls_since_write += 1
        self.counts_since_write[observation.tool] += 1
        for name, number in observation.arguments.items():
            self.used_since_write.add((observation.tool, name, number))
        siblings = Counter(value.path for value in observation.values)
        found = [
            Occurrence(("argument", observation.tool, name), step, (), 1, number)
            for name, number in observation.arguments.items()
        ]
        found += [
            Occurrence(
                ("result", observation.tool, value.path),
                step,
                value.items,
                siblings[value.path],
                value.number,
            )
            for value in observation.values
        ]
        self._add_occurrences(found)

    def _add_occurrences(self, found: list[Occurrence]) -> None:
        self.recent.append(found)
        for occurrence in found:
            if occurrence.source not in self.by_source:
                self._index_source(occurrence.source)
            self.by_source[occurrence.source].append(occurrence)
            self._latest.pop(occurrence.source, None)
            self._steps_of.pop(occurrence.source, None)
            self.by_number[occurrence.number].append(occurrence)

    def _index_source(self, source: Source) -> None:
        if source[0] == "stated":
            self.stated_sources[source] = self.by_source[source]
        if source[0] in ("stated", "planned"):
            return
        own, above = split_path(source[2])
        stems = own | above
        if own <= GENERIC_STEMS and source[0] == "result":
            profile = self.tools.tools.get(source[1])
            stems |= profile.stems if profile else frozenset()
        self._found_sources.clear()
        for stem in stems:
            self.sources_by_stem[stem][source] = None

    def is_planned_call_done(self, planned: ObservedPlan) -> bool:
        """Return whether a suggested call was made since the statement that it is for."""
        return any(
            self.calls[at].arguments == planned.arguments
            and self.calls[at].schema_arguments == planned.schema_arguments
            for at in self.calls_of.get(planned.tool, ())
            if self.steps[at] > self.last_statement
        )

    def keep_weighed(self, *weighed_for: object) -> None:
        """Forget the weighed choices if they are many, or were weighed for something else."""
        is_same = len(weighed_for) == len(self._weighed_for) and all(
            kept is given for kept, given in zip(self._weighed_for, weighed_for, strict=True)
        )
        if not is_same or len(self.weighed) > MAX_WEIGHED:
            self.weighed.clear()
            self._weighed_for = weighed_for

    def list_steps(self, source: Source) -> Sequence[int]:
        """Return the last steps at which a source gave values, oldest first."""
        found = self._steps_of.get(source)
        if found is None:
            found = sorted({occurrence.step for occurrence in self.by_source[source][-40:]})
            self._steps_of[source] = found
        return found

    def list_latest(self, source: Source) -> Sequence[Occurrence]:
        """Return the occurrences of the last few steps, newest first, items in their order."""
        found = self._latest.get(source)
        if found is None:
            newest = self.by_source[source][-MAX_LATEST:]
            steps = set(sorted({o.step for o in newest}, reverse=True)[:MAX_STEPS])
            kept = [o for o in newest if o.step in steps]
            found = self._latest[source] = sorted(kept, key=lambda o: (-o.step, o.items))
        return found

    def find_sources(self, stems: frozenset[str]) -> Sequence[Source]:
        """Return the sources whose names share a stem, newest first."""
        found = self._found_sources.get(stems)
        if found is None:
            named = {s: None for stem in sorted(stems) for s in self.sources_by_stem.get(stem, ())}
            found = self._found_sources[stems] = list(reversed(named))[:24]
        return found


@lru_cache(maxsize=16_384)
def split_path(path: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of the last key of a path, and of the key above."""
    keys = [key for key in path.rstrip("~!").split("/") if key not in ("", "*", "{key}")]
    if not keys:
        return frozenset(), frozenset()
    return stem_name(keys[-1]), stem_name(keys[-2]) if len(keys) > 1 else frozenset()


def find_position(values: tuple[Any, ...], value: Any) -> int | None:
    """Return where a value stands among the values of a schema.

    Example:
        >>> find_position((False, True, 1), True), find_position(("a",), "b")
        (1, None)
    """
    for index, other in enumerate(values):
        if other == value and isinstance(other, bool) == isinstance(value, bool):
            return index
    return None
