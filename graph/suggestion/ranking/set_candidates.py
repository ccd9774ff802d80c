"""List the candidate tool sets of an intent: from the likeliest tools and from similar runs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.set_history import Ints, Positions, SetHistory

if TYPE_CHECKING:
    from graph.suggestion.ranking.candidates import Candidates

MAX_TOP_TOOLS: Final = 8
LARGEST_SUBSET: Final = 5
"""All 218 subsets of at most 5 of the 8 likeliest tools are candidates. Ten are no better."""

MAX_NEAR_SETS: Final = 15
"""The distinct sets of the nearest runs are candidates too, the only source of larger sets."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateSets:
    """Candidate sets of an intent: m sets over n tools.

    Attributes:
        columns: Positions of the tools among the scored ones, shape (n,); the likeliest first.
        members: 1 where a set contains a tool, else 0, shape (m, n), float32; sets are distinct.
        sizes: Tools of each set, at least 1, shape (m,), float32.
    """

    columns: Positions
    members: NDArray[np.float32]
    sizes: NDArray[np.float32]

    def find_set(self, tools: frozenset[int], scored: Candidates) -> int | None:
        """Return the index of exactly this set; None if it is no candidate."""
        pks = scored.tools[self.columns]
        in_set = np.isin(pks, list(tools))
        if int(in_set.sum()) != len(tools):
            return None
        is_equal = (self.members @ in_set == len(tools)) & (self.sizes == len(tools))
        return int(is_equal.argmax()) if is_equal.any() else None

    def tools_of_set(self, index: int, scored: Candidates) -> Ints:
        """Return the primary keys of one set, the likeliest tool first."""
        return np.asarray(scored.tools[self.columns[self.members[index] > 0]], dtype=np.int64)

    def compute_pair_mean(self, pairs: NDArray[np.generic]) -> NDArray[np.float32]:
        """Return the mean of a symmetric quantity over the pairs of each set; 0 for one tool.

        Args:
            pairs: Shape (n, n); the diagonal is not read.
        """
        values = pairs.astype(np.float32)
        np.fill_diagonal(values, 0)
        total = ((self.members @ values) * self.members).sum(axis=1)
        count = np.maximum(self.sizes * (self.sizes - 1), 2)
        return np.asarray(total / count, dtype=np.float32)


def list_candidate_sets(scored: Candidates, history: SetHistory | None) -> CandidateSets:
    """List the candidate sets.

    Sets of past runs with an unscored tool (removed, or hidden from the caller) are left out.

    Args:
        scored: At least one tool.
        history: None without past runs.
    """
    top = np.argsort(-scored.logits, kind="stable").astype(np.intp)[:MAX_TOP_TOOLS]
    subsets = _enumerate_subsets(len(top))
    near = [] if history is None else _sets_of_nearest_runs(scored, history)
    known_sets = _positions_of_known_sets(near, scored, top)
    columns = list(
        dict.fromkeys(
            [*top.tolist(), *(at for members_of_set in known_sets for at in members_of_set)]
        )
    )
    column_of = {at: column for column, at in enumerate(columns)}
    members = np.zeros((len(subsets) + len(known_sets), len(columns)), dtype=np.float32)
    members[: len(subsets), : len(top)] = subsets
    for row, members_of_set in enumerate(known_sets, start=len(subsets)):
        members[row, [column_of[at] for at in members_of_set]] = 1
    return CandidateSets(
        columns=np.array(columns, dtype=np.intp), members=members, sizes=members.sum(axis=1)
    )


def _sets_of_nearest_runs(scored: Candidates, history: SetHistory) -> list[Ints]:
    """Return the distinct sets of the nearest runs, excluding the scored run itself."""
    sets = dict.fromkeys(
        int(history.set_of[run]) for run in scored.nearest_past if run != scored.own_run
    )
    return [history.members_of_set(which) for which in itertools.islice(sets, MAX_NEAR_SETS)]


def _positions_of_known_sets(
    near: list[Ints], scored: Candidates, top: Positions
) -> list[list[int]]:
    """Return the sets as positions, except those with unscored tools and those in the subsets."""
    place = {int(pk): positions for positions, pk in enumerate(scored.tools)}
    likeliest = set(top.tolist())
    known_sets = []
    for members in near:
        positions = [place[int(pk)] for pk in members if int(pk) in place]
        is_subset = len(positions) <= LARGEST_SUBSET and likeliest.issuperset(positions)
        if len(positions) == len(members) and not is_subset:
            known_sets.append(positions)
    return known_sets


@cache
def _enumerate_subsets(count: int) -> NDArray[np.float32]:
    """Return the non-empty subsets of `count` tools, shape (m, count)."""
    rows = [
        chosen
        for size in range(1, min(LARGEST_SUBSET, count) + 1)
        for chosen in itertools.combinations(range(count), size)
    ]
    members = np.zeros((len(rows), count), dtype=np.float32)
    for row, chosen in enumerate(rows):
        members[row, list(chosen)] = 1
    members.flags.writeable = False
    return members
