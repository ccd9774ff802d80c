"""What the sessions of a team have taught: counts, and the chances fitted on them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Sequence
from itertools import accumulate, chain

import numpy as np

from graph.suggestion.next_call.chance import PLANNED, ChanceModel, Floats, load_priors
from graph.suggestion.next_call.counts import (
    BUCKETS_PER_OCTAVE,
    Counts,
    count_session,
    list_sources,
    select_known,
)
from graph.suggestion.next_call.observation import CallObservation
from graph.suggestion.next_call.occurrence import Source
from graph.suggestion.next_call.profiles import ToolProfile

Session = Sequence[CallObservation]

MAX_SOURCES = 10
"""Sources of one argument that are looked at."""
MAX_ARGUMENT_SETS = 3
"""Sets of arguments of one tool that are predicted."""
PRIOR_CALLS = 2.0
"""Calls that the required arguments alone count for beside the sets observed."""
DEFAULT_DURATION_MS = 300.0
"""Of a call to a tool that was never called: a round trip to a typical web service."""
MIN_TIMED_CALLS = 20
"""Calls of a tool below which the 95th percentile of its duration is unknown."""
P95 = 0.95

MAX_COUNTS = 100_000
"""Counts of one model, some 25 MB; beyond it all are halved, and the rarest are dropped."""


class NextCallModel:
    """What past sessions taught. Immutable: share it between threads, and swap it whole.

    Attributes:
        counts: What was counted in them.
        chances: Turns features into chances; None: the shipped prior.
        planned_chances: The same for suggested calls before any history.
    """

    def __init__(
        self,
        counts: Counts | None = None,
        *,
        chances: ChanceModel | None = None,
        planned_chances: ChanceModel | None = None,
    ) -> None:
        self.counts: Counts = Counter() if counts is None else counts
        self.chances = chances
        self.planned_chances = planned_chances
        self._index()

    @classmethod
    def from_observations(cls, sessions: Iterable[Session]) -> NextCallModel:
        """Count sessions, each given as its calls, oldest first."""
        return cls().with_observations(sessions)

    def with_observations(self, sessions: Iterable[Session]) -> NextCallModel:
        """Return a model that also counts some more sessions."""
        steps = self.count_in_steps((session, None) for session in sessions)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                model: NextCallModel = done.value
                return model

    def count_in_steps(
        self, sessions: Iterable[tuple[Session, range | None]]
    ) -> Generator[None, None, NextCallModel]:
        """Count as `with_observations` does, giving way after each session.

        Args:
            sessions: Each with the indexes of its calls that are counted; None: all.

        Complexity:
            Linear in the calls added, beside the model's own `MAX_COUNTS`; see `count_session`.
        """
        added = [(session, counted) for session, counted in sessions if session]
        frequencies = Counter(chain.from_iterable(list_sources(session) for session, _ in added))
        yield
        for key, count in self.counts.items():
            if key[0] == "from":
                frequencies[key[1:4]] += count
        known = select_known(frequencies)
        counts = Counter(self.counts)
        for session, counted in added:
            counts.update(count_session(session, known, counted=counted))
            while len(counts) > MAX_COUNTS:
                counts = Counter({key: n // 2 for key, n in counts.items() if n > 1})
            yield
        return NextCallModel(counts, chances=self.chances)

    def with_chances(
        self, chances: ChanceModel, planned: ChanceModel | None = None
    ) -> NextCallModel:
        """Return the model with other coefficients."""
        return NextCallModel(self.counts, chances=chances, planned_chances=planned)

    def _index(self) -> None:
        followers: dict[int, list[tuple[float, int]]] = defaultdict(list)
        sources: dict[tuple[int, str], Counter[Source]] = defaultdict(Counter)
        names: dict[int, list[tuple[float, tuple[str, ...]]]] = defaultdict(list)
        frequent: list[tuple[float, int]] = []
        buckets: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for key, count in self.counts.items():
            match key[0]:
                case "then":
                    followers[key[1]].append((-count, key[2]))
                case "from":
                    sources[key[1], key[2]][key[3]] += count
                case "names":
                    names[key[1]].append((-count, key[2]))
                case "calls":
                    frequent.append((-count, key[1]))
                case "took":
                    buckets[key[1]].append((key[2], count))
        self._followers = {k: [tool for _, tool in sorted(v)] for k, v in followers.items()}
        self._sources = {k: _rank_sources(v) for k, v in sources.items()}
        self._names = {k: sorted(v) for k, v in names.items()}
        self._p95_ms = {k: p95 for k, v in buckets.items() if (p95 := _estimate_p95_ms(v))}
        self.frequent_tools = [tool for _, tool in sorted(frequent)]

    def list_followers(self, tool: int) -> list[int]:
        """Return the tools called after a call of `tool`, most often first."""
        return self._followers.get(tool, [])

    def list_sources(self, tool: int, name: str) -> list[Source]:
        """Return where an argument came from, most often first."""
        return self._sources.get((tool, name), [])

    def list_argument_sets(self, profile: ToolProfile) -> list[tuple[tuple[str, ...], float]]:
        """Return which arguments a call may have, each with an estimate of its share."""
        observed = self._names.get(profile.tool, [])
        total = -sum(count for count, _ in observed) + PRIOR_CALLS
        found = {profile.required: PRIOR_CALLS / total}
        for count, names in observed[:MAX_ARGUMENT_SETS]:
            if profile.parameters.keys() >= set(names) >= set(profile.required):
                found[names] = found.get(names, 0.0) - count / total
        return list(found.items())

    def count_source(self, tool: int, name: str, source: Source, rank: int) -> tuple[float, float]:
        """Return how often a source gave an argument, and how often it was there at a call."""
        counts = self.counts
        given = counts.get(("from", tool, name, source, rank), 0)
        # A source that was not among the known ones yet gave values that are not counted as there.
        return given, max(given, counts.get(("there", tool, name, source, rank), 0))

    def count_given(self, tool: int, name: str) -> int:
        """Return in how many calls an argument was given."""
        return self.counts["given", tool, name]

    def count_schema_value(self, tool: int, name: str, position: int) -> int:
        """Return in how many calls an argument was this value of the schema."""
        return self.counts["schema", tool, name, position]

    def estimate_duration_ms(self, tool: int) -> float:
        """Return how long a call of a tool takes."""
        calls = self.counts["calls", tool]
        return self.counts["ms", tool] / calls if calls else DEFAULT_DURATION_MS

    def estimate_p95_ms(self, tool: int) -> float | None:
        """Return the 95th percentile of a tool's duration, at most 19 % too high.

        None: fewer than `MIN_TIMED_CALLS` calls were seen.
        """
        return self._p95_ms.get(tool)

    def estimate_chances(self, rows: Floats) -> tuple[list[float], list[float]]:
        """Return for features how likely each call comes, and how likely it is the very next."""
        chances = self.chances
        if chances is None:
            chances = load_priors()["learned" if self.counts["sessions",] else "cold"]
        ever, soon = chances.ever.estimate(rows), chances.soon.estimate(rows)
        if not self.counts["sessions",] and len(rows):
            planned = self.planned_chances or load_priors()["planned"]
            places = np.flatnonzero(rows[:, PLANNED] > 0)
            own = planned.ever.estimate(rows[places]), planned.soon.estimate(rows[places])
            for at, *estimates in zip(places, *own, strict=True):
                ever[at], soon[at] = estimates
        return ever, soon


def _rank_sources(counted: Counter[Source]) -> list[Source]:
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return [source for source, _ in ranked[:MAX_SOURCES]]


def _estimate_p95_ms(buckets: Iterable[tuple[int, int]]) -> float | None:
    """Return the end of the bucket that holds the percentile."""
    ordered = sorted(buckets)
    total = sum(count for _, count in ordered)
    if total < MIN_TIMED_CALLS:
        return None
    totals = accumulate(count for _, count in ordered)
    bucket = next(b for (b, _), below in zip(ordered, totals, strict=True) if below >= P95 * total)
    return float(2 ** (bucket / BUCKETS_PER_OCTAVE))
