"""Which sets of tools are compared for an intent: of the likeliest tools, and of similar runs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking.set_history import Ints, Positions, SetHistory

if TYPE_CHECKING:
    from graph.ranking.scored import Scored

TOP_TOOLS: Final = 8
LARGEST_SUBSET: Final = 5
"""All subsets of at most 5 of the 8 likeliest tools are compared: 218. Ten are no better."""

NEAR_RUNS: Final = 60
NEAR_SETS: Final = 15
"""The distinct sets of the nearest runs are compared too; larger sets come from there only."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """Sets that may be what an intent asks for: m sets over n tools.

    Attributes:
        columns: Positions of the tools among those scored, shape (n,); the likeliest first.
        members: Which tools each set holds, 0 or 1, shape (m, n), float32; sets are distinct.
        sizes: Tools of each set, at least 1, shape (m,), float32.
    """

    columns: Positions
    members: NDArray[np.float32]
    sizes: NDArray[np.float32]

    def find(self, tools: frozenset[int], scored: Scored) -> int | None:
        """Return which candidate is exactly this set, or None."""
        pks = scored.tools[self.columns]
        wanted = np.isin(pks, list(tools))
        if int(wanted.sum()) != len(tools):
            return None
        is_it = (self.members @ wanted == len(tools)) & (self.sizes == len(tools))
        return int(is_it.argmax()) if is_it.any() else None

    def tools(self, which: int, scored: Scored) -> Ints:
        """Return the primary keys of one set, the likeliest tool first."""
        return np.asarray(scored.tools[self.columns[self.members[which] > 0]], dtype=np.int64)

    def mean_over_pairs(self, pairs: NDArray[np.generic]) -> NDArray[np.float32]:
        """Return the mean of a symmetric quantity over the pairs of each set; 0 for one tool.

        Args:
            pairs: Shape (n, n); the diagonal is not read.
        """
        values = pairs.astype(np.float32)
        np.fill_diagonal(values, 0)
        total = ((self.members @ values) * self.members).sum(axis=1)
        count = np.maximum(self.sizes * (self.sizes - 1), 2)
        return np.asarray(total / count, dtype=np.float32)


def candidates(
    scored: Scored, history: SetHistory | None, *, near_sets: int = NEAR_SETS
) -> Candidates:
    """List the sets to compare.

    Sets of past runs with a tool that was not scored (it is gone, or the caller must not see it)
    are left out.

    Args:
        scored: At least one tool.
        history: None without past runs.
        near_sets: Sets of similar runs at most.
    """
    top = np.argsort(-scored.logits, kind="stable").astype(np.intp)[:TOP_TOOLS]
    subsets = _subsets(len(top))
    near = [] if history is None else _near_sets(scored, history, near_sets)
    known = _known(near, scored, top)
    columns = list(dict.fromkeys([*top.tolist(), *(at for found in known for at in found)]))
    column_of = {at: column for column, at in enumerate(columns)}
    members = np.zeros((len(subsets) + len(known), len(columns)), dtype=np.float32)
    members[: len(subsets), : len(top)] = subsets
    for row, found in enumerate(known, start=len(subsets)):
        members[row, [column_of[at] for at in found]] = 1
    return Candidates(
        columns=np.array(columns, dtype=np.intp), members=members, sizes=members.sum(axis=1)
    )


def _near_sets(scored: Scored, history: SetHistory, limit: int) -> list[Ints]:
    """Return the distinct sets of the nearest runs, the scored run itself left out."""
    similarity = scored.similarity
    count = min(NEAR_RUNS, len(similarity))
    nearest = np.argpartition(-similarity, count - 1)[:count]
    nearest = nearest[np.argsort(-similarity[nearest], kind="stable")]
    sets = dict.fromkeys(int(history.set_of[run]) for run in nearest if run != scored.own)
    return [history.members(which) for which in itertools.islice(sets, limit)]


def _known(near: list[Ints], scored: Scored, top: Positions) -> list[list[int]]:
    """Return the sets by position, without those of unknown tools and those among the subsets."""
    place = {int(pk): at for at, pk in enumerate(scored.tools)}
    likeliest = set(top.tolist())
    known = []
    for members in near:
        at = [place[int(pk)] for pk in members if int(pk) in place]
        is_subset = len(at) <= LARGEST_SUBSET and likeliest.issuperset(at)
        if len(at) == len(members) and not is_subset:
            known.append(at)
    return known


@cache
def _subsets(count: int) -> NDArray[np.float32]:
    """Return the subsets of so many tools, the empty one left out, shape (m, count)."""
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
