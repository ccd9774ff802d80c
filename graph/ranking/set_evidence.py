"""What past runs say of each candidate set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking.set_candidates import Candidates
from graph.ranking.set_history import LARGEST, Floats, SetHistory

if TYPE_CHECKING:
    from graph.ranking.scored import Scored

Column = NDArray[np.float32]

FEATURES: Final = (
    *("dsize", "lsize", "pmi", "expF1", "sup", "never", "closure"),
    *("hasP", "logP", "simP", "votP"),
)
"""Distance of the size from the one predicted; log of the size's share among similar runs; mean
pointwise mutual information of pairs; expected F1 with similar runs; how many runs had all of the
set (log), or none, and the share of exactly this set among them; whether runs had this very set,
how many (log), the nearest of them, their votes."""

VOTE_WIDTH: Final = 0.08
"""A run's vote falls by e where its cosine is so much below the nearest run's."""

LOCAL_SHARE: Final = 0.8
"""Share of similar runs, against all runs, in how likely a size is."""

UNKNOWN_CLOSURE: Final = 0.3


@dataclass(frozen=True, kw_only=True, eq=False)
class _Near:
    """The q sets of past runs that share a tool with the candidates, the run itself left out.

    Attributes:
        holders: Which of the candidates' tools each holds, 0 or 1, shape (n, q).
        sizes: Tools of each, shape (q,).
        counts: Runs with each, positive, shape (q,).
        similarity: Cosine of the nearest run with each, not negative, shape (q,).
        votes: Share of each in the votes of similar runs, shape (q,).
    """

    holders: NDArray[np.float32]
    sizes: Column
    counts: Column
    similarity: Column
    votes: Column


def features(scored: Scored, candidates: Candidates, history: SetHistory) -> list[Column]:
    """Return the columns of `FEATURES`, shape (m,) each."""
    votes = _votes(scored)
    near = _near(scored, candidates, history, votes)
    sizes = candidates.sizes
    predicted = sizes if scored.size is None else np.float32(scored.size)
    shared = candidates.members @ near.holders
    others = history.runs - (scored.own is not None)
    return [
        -abs(sizes - predicted),
        _log_size_share(scored, sizes, history, votes),
        _mutual_information(candidates, near, others),
        (2 * shared / (sizes[:, None] + near.sizes)) @ near.votes,
        *_of_supersets(shared >= sizes[:, None] - 0.5, sizes, near),
    ]


def _votes(scored: Scored) -> Floats:
    """Return each run's share in what similar runs say, shape (N,), sum about 1."""
    similarity = scored.similarity.astype(np.float64)
    if scored.own is not None:
        similarity[scored.own] = -1
    votes = np.exp((similarity - similarity.max()) / VOTE_WIDTH)
    if scored.own is not None:
        votes[scored.own] = 0
    return np.asarray(votes / (votes.sum() + 1e-9))


def _near(scored: Scored, candidates: Candidates, history: SetHistory, votes: Floats) -> _Near:
    counts = history.counts_without(scored.own)
    holders = history.holders[history.rows(scored.tools[candidates.columns])]
    found = np.flatnonzero(holders.any(axis=0) & (counts > 0))
    similarity = np.maximum(scored.similarity, 0)
    if scored.own is not None:
        similarity[scored.own] = 0
    return _Near(
        holders=holders[:, found].astype(np.float32),
        sizes=history.sizes[found].astype(np.float32),
        counts=counts[found].astype(np.float32),
        similarity=history.best_by_set(similarity)[found].astype(np.float32),
        votes=history.sum_by_set(votes)[found].astype(np.float32),
    )


def _log_size_share(scored: Scored, sizes: Column, history: SetHistory, votes: Floats) -> Column:
    local = np.bincount(history.size_of, votes, LARGEST + 1)
    overall = history.size_counts_without(scored.own) + 0.1
    share = LOCAL_SHARE * local + (1 - LOCAL_SHARE) * overall / overall.sum()
    by_size = np.log(share + 0.01).astype(np.float32)
    return np.asarray(by_size[np.minimum(sizes, LARGEST).astype(np.intp)])


def _mutual_information(candidates: Candidates, near: _Near, runs: int) -> Column:
    """Return the mean over pairs of log p(a, b) / (p(a) p(b)), smoothed."""
    together = (near.holders * near.counts) @ near.holders.T
    alone = np.diag(together) + 1
    expected = np.outer(alone, alone) / (runs + 1) + 0.3
    return candidates.mean_over_pairs(np.log((together + 0.3) / expected))


def _of_supersets(contained: NDArray[np.bool_], sizes: Column, near: _Near) -> list[Column]:
    """Return the columns that ask which runs had all tools of a set, or exactly these."""
    supersets = contained @ near.counts
    known, which = np.nonzero(contained & (near.sizes == sizes[:, None]))
    columns = [np.zeros(len(sizes), dtype=np.float32) for _ in range(4)]
    is_known, count, similarity, votes = columns
    is_known[known] = 1
    count[known] = near.counts[which]
    similarity[known] = near.similarity[which]
    votes[known] = near.votes[which]
    closure = np.where(supersets > 0, (count + 0.5) / (supersets + 1), UNKNOWN_CLOSURE)
    return [
        np.log1p(supersets),
        ((supersets == 0) & (sizes > 1)).astype(np.float32),
        closure.astype(np.float32),
        is_known,
        np.log1p(count),
        similarity,
        votes,
    ]
