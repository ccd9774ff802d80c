"""Count in past sessions: which calls followed which, and where their arguments came from."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from graph.suggestion.next_call.observation import CallObservation
from graph.suggestion.next_call.occurrence import Occurrence, Source
from graph.suggestion.next_call.profiles import ToolProfiles
from graph.suggestion.next_call.session import STATEMENT, SessionState

MAX_RANK = 2
"""Calls of a source beyond the last two count as one."""
MAX_AGAIN = 6
MAX_FOUND_COUNTED = 3
"""Tools in the answer to a statement that are counted with what came after it, the best."""
BUCKETS_PER_OCTAVE: Final = 4
"""Of durations: a bucket ends 19 % above where it begins."""
MAX_KNOWN_SOURCES: Final = 16
"""Sources of one argument whose values are counted; prediction looks at ten."""
MAX_KNOWN: Final = 1_000
"""Sources of all arguments whose values are counted, the most frequent."""
MAX_POINT_VALUES: Final = 256
"""Values counted at one point of a session, those of frequent sources first: some 0.2 ms."""
NO_TOOLS: Final = ToolProfiles({}, {}, {}, frozenset(), {})

Counts = Counter[tuple[Any, ...]]
KnownSource = tuple[int, str, Source]
"""A tool, the name of its argument, and where a value of that came from."""


class Horizon:
    """The calls of a session by time, to look up what came before the next invalidation."""

    def __init__(self, session: Sequence[CallObservation]) -> None:
        self.calls = session
        self._ends: list[int] = [0] * len(session)
        end = len(session)
        for index in range(len(session) - 1, -1, -1):
            if not session[index].is_read_only:
                end = index
            self._ends[index] = end
        self._calls_of: dict[int, list[int]] = defaultdict(list)
        self._uses: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        self._keys = [
            (call.tool, tuple(call.arguments.items()), tuple(call.schema_arguments.items()))
            for call in session
        ]
        for index, call in enumerate(session):
            self._calls_of[call.tool].append(index)
            for name, number in call.arguments.items():
                self._uses[call.tool, name, number].append(index)

    def end_after(self, done: int) -> int:
        """Return the index of the first call from `done` that is not read-only."""
        return self._ends[done] if done < len(self.calls) else done

    def calls_from(self, tool: int, done: int) -> list[int]:
        """Return the calls of a tool from `done` to the next invalidation."""
        found, end = self._calls_of.get(tool, []), self.end_after(done)
        return found[bisect_right(found, done - 1) : bisect_right(found, end)]

    def is_used(self, tool: int, name: str, number: int, done: int) -> bool:
        """Return whether a value comes as this argument before the next invalidation."""
        found = self._uses.get((tool, name, number), ())
        at = bisect_right(found, done - 1)
        return at < len(found) and found[at] <= self.end_after(done)

    def count_calls_from(self, done: int) -> Counter[int]:
        """Return how many different calls of each tool come before the next invalidation."""
        return Counter(tool for tool, *_ in set(self._keys[done : self.end_after(done) + 1]))


def rank_step(state: SessionState, source: Source, step: int) -> int:
    """Return how many later calls of the same source there are, at most `MAX_RANK`."""
    steps = state.list_steps(source)
    return min(MAX_RANK, len(steps) - bisect_right(steps, step))


def select_known(frequencies: Mapping[KnownSource, int]) -> tuple[KnownSource, ...]:
    """Return the sources whose values are counted, most frequent first, at most `MAX_KNOWN`."""
    ranked = sorted(frequencies, key=lambda source: (-frequencies[source], source))
    taken: Counter[tuple[int, str]] = Counter()
    selected = []
    for source in ranked:
        argument = source[:2]
        if taken[argument] < MAX_KNOWN_SOURCES:
            taken[argument] += 1
            selected.append(source)
    return tuple(selected[:MAX_KNOWN])


def count_session(
    session: Sequence[CallObservation],
    known: Iterable[KnownSource],
    *,
    counted: range | None = None,
) -> Counts:
    """Count one session, or a part of it.

    Args:
        session: Its calls, oldest first.
        known: Sources of arguments in past sessions, most frequent first: how often each was
            there, and how often it led to the call, is counted.
        counted: Indexes of the calls that are counted, with what was stated before them and what
            came after them; None: all.

    Complexity:
        O(points * (`known` + `MAX_POINT_VALUES`)), whatever was counted before.
    """
    counts: Counts = Counter()
    counted = range(len(session)) if counted is None else counted
    by_source: dict[Source, list[tuple[int, str]]] = defaultdict(list)
    by_argument: dict[tuple[int, str], list[Source]] = defaultdict(list)
    for tool, name, source in known:
        by_source[source].append((tool, name))
        by_argument[tool, name].append(source)
    horizon = Horizon(session)
    state = SessionState(NO_TOOLS)
    if counted.start == 0:
        counts["sessions",] += 1
        _count_point(counts, state, horizon, by_source)
    for index, call in enumerate(session[: counted.stop]):
        for statement in call.statements:
            state.add_observed_statement(statement)
            if index in counted:
                _count_point(counts, state, horizon, by_source)
        if index in counted:
            _count_call(counts, state, call, by_argument)
        state.add_observed_call(call)
        if index in counted:
            _count_point(counts, state, horizon, by_source)
    return counts


def list_sources(session: Sequence[CallObservation]) -> set[KnownSource]:
    """Return where the arguments of a session's calls came from."""
    found: set[KnownSource] = set()
    state = SessionState(NO_TOOLS)
    for call in session:
        for statement in call.statements:
            state.add_observed_statement(statement)
        for name, number in call.arguments.items():
            found.update((call.tool, name, o.source) for o in state.by_number.get(number, ()))
        state.add_observed_call(call)
    return found


def find_duration_bucket(duration_ms: float) -> int:
    """Return the least n such that a duration is at most 2^(n / `BUCKETS_PER_OCTAVE`) ms.

    Example:
        >>> find_duration_bucket(0.2), find_duration_bucket(1_024)
        (0, 40)
    """
    return max(0, math.ceil(BUCKETS_PER_OCTAVE * math.log2(max(duration_ms, 1.0))))


def _count_call(
    counts: Counts,
    state: SessionState,
    call: CallObservation,
    known: dict[tuple[int, str], list[Source]],
) -> None:
    counts["calls", call.tool] += 1
    counts["ms", call.tool] += round(call.duration_ms)
    counts["took", call.tool, find_duration_bucket(call.duration_ms)] += 1
    counts["names", call.tool, tuple(sorted({*call.arguments, *call.schema_arguments}))] += 1
    for name, position in call.schema_arguments.items():
        counts["schema", call.tool, name, position] += 1
    for name in {*call.arguments, *call.schema_arguments}:
        counts["given", call.tool, name] += 1
        number = call.arguments.get(name, -1)
        seen = {
            (o.source, rank_step(state, o.source, o.step)) for o in state.by_number.get(number, ())
        }
        for source, rank in seen:
            counts["from", call.tool, name, source, rank] += 1
        for source in known.get((call.tool, name), ()):
            occurrences = state.by_source.get(source, ())
            for rank in range(min(MAX_RANK + 1, len({o.step for o in occurrences}))):
                counts["there", call.tool, name, source, rank] += 1


def _count_point(
    counts: Counts,
    state: SessionState,
    horizon: Horizon,
    by_source: dict[Source, list[tuple[int, str]]],
) -> None:
    """Count what came after this point of a session."""
    done = len(state.calls)
    _count_tools(counts, state, horizon.count_calls_from(done))
    if done < len(horizon.calls):
        counts["next", state.order[-1], horizon.calls[done].tool] += 1
    values = _list_unused(state, by_source)
    for tool, name, occurrence in islice(values, MAX_POINT_VALUES):
        comes = horizon.is_used(tool, name, occurrence.number, done)
        _count_source(counts, state, (tool, name), occurrence, comes=comes)


def _list_unused(
    state: SessionState, by_source: Mapping[Source, Iterable[tuple[int, str]]]
) -> Iterator[tuple[int, str, Occurrence]]:
    """Yield the values at hand that an argument may take, those of frequent sources first."""
    for source, takers in by_source.items():
        if source not in state.by_source:
            continue
        occurrences = _latest(state.by_source[source])
        for tool, name in takers:
            for occurrence in occurrences:
                if (tool, name, occurrence.number) not in state.used_since_write:
                    yield tool, name, occurrence


def _count_tools(counts: Counts, state: SessionState, coming: Counter[int]) -> None:
    """Count which tools came, by what was called and stated before."""
    last, before = state.order[-1], state.order[-2] if len(state.order) > 1 else 0
    found = list(state.found_tools)[:MAX_FOUND_COUNTED] if last == STATEMENT else ()
    counts["points",] += 1
    counts.update(("found", one) for one in found)
    counts["after", last] += 1
    counts["after2", before, last] += 1
    for tool in coming:
        counts["any", tool] += 1
        counts["any calls", tool] += coming[tool]
        counts["then", last, tool] += 1
        counts["then2", before, last, tool] += 1
        counts.update(("found+", one, tool) for one in found)
    for tool, times in state.counts_since_write.items():
        counts["again", tool, min(times, MAX_AGAIN)] += 1
        counts["again+", tool, min(times, MAX_AGAIN)] += tool in coming


def _count_source(
    counts: Counts,
    state: SessionState,
    argument: tuple[int, str],
    occurrence: Occurrence,
    *,
    comes: bool,
) -> None:
    """Count a value that was there, and whether it came as this argument."""
    is_newest = occurrence.step == len(state.order) - 1
    for name, key in (
        ("chance", (*argument, occurrence.source, is_newest)),
        ("chance after", (*argument, occurrence.source, state.order[-1])),
    ):
        counts[name, *key] += 1
        counts[f"{name}+", *key] += comes


def _latest(occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the newest occurrences, each value once."""
    found: dict[int, Occurrence] = {}
    for occurrence in reversed(occurrences[-12:]):
        found.setdefault(occurrence.number, occurrence)
    return list(found.values())
