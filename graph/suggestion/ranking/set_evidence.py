"""Features of candidate sets from the evidence of past runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.set_candidates import CandidateSets
from graph.suggestion.ranking.set_history import MAX_SET_SIZE, Floats, SetHistory

if TYPE_CHECKING:
    from graph.suggestion.ranking.scored_candidates import ScoredCandidates

Column = NDArray[np.float32]

EVIDENCE_FEATURES: Final = (
    *("dsize", "lsize", "pmi", "expF1", "sup", "never", "closure"),
    *("hasP", "logP", "simP", "votP"),
)
"""Negative distance of the size from the predicted one; log of the size's share among similar
runs; mean pointwise mutual information of pairs; expected F1 with similar runs; log count of runs
with a superset, whether there is none, and the share of exactly this set among them; whether runs
had exactly this set, their log count, nearest similarity and votes."""

VOTE_WIDTH: Final = 0.08
"""A run's vote falls by a factor of e per this much cosine below the nearest run."""

LOCAL_SHARE: Final = 0.8
"""Weight of similar runs, against all runs, in the probability of a size."""

UNKNOWN_CLOSURE: Final = 0.3

BLOCK_CELLS: Final = 32_000
"""Pairs of a candidate set and a set of past runs that are compared at a time: all at once, the
matrices leave a core's cache, and comparing takes three times as long."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _NearbySets:
    """The q sets of past runs that share a tool with the candidates, excluding the own run.

    Attributes:
        holders: 1 where a set contains a tool of the candidates, else 0, shape (n, q).
        sizes: Tools of each set, shape (q,).
        counts: Runs with each set, positive, shape (q,).
        similarity: Cosine of the nearest run with each set, non-negative, shape (q,).
        votes: Share of each set in the votes of similar runs, shape (q,).
    """

    holders: NDArray[np.float32]
    sizes: Column
    counts: Column
    similarity: Column
    votes: Column


def compute_evidence_features(
    scored: ScoredCandidates, candidates: CandidateSets, history: SetHistory
) -> list[Column]:
    """Return the columns of `EVIDENCE_FEATURES`, shape (m,) each."""
    votes = _compute_run_votes(scored)
    near = _find_overlapping_sets(scored, candidates, history, votes)
    sizes = candidates.sizes
    predicted = sizes if scored.predicted_size is None else np.float32(scored.predicted_size)
    others = history.run_count - (scored.own_run is not None)
    rows = max(BLOCK_CELLS // max(len(near.sizes), 1), 1)
    compared = [
        _compare_sets(candidates.members[start : start + rows], near)
        for start in range(0, len(sizes), rows)
    ]
    return [
        -abs(sizes - predicted),
        _log_size_share(scored, sizes, history, votes),
        _compute_mean_pmi(candidates, near, others),
        *(np.concatenate(column) for column in zip(*compared, strict=True)),
    ]


def _compare_sets(members: NDArray[np.float32], near: _NearbySets) -> list[Column]:
    """Return the columns from "expF1" on, for some of the candidate sets, shape (b, n)."""
    sizes = members.sum(axis=1)
    shared = members @ near.holders
    overlap = sizes[:, None] + near.sizes
    np.divide(shared, overlap, out=overlap)
    contained = shared >= sizes[:, None] - 0.5
    return [2 * (overlap @ near.votes), *_superset_columns(contained, sizes, near)]


def _compute_run_votes(scored: ScoredCandidates) -> Floats:
    """Return each run's share of the votes by similarity, shape (N,), sum about 1."""
    similarity = scored.similarity.astype(np.float64)
    if scored.own_run is not None:
        similarity[scored.own_run] = -1
    votes = np.exp((similarity - similarity.max()) / VOTE_WIDTH)
    if scored.own_run is not None:
        votes[scored.own_run] = 0
    return np.asarray(votes / (votes.sum() + 1e-9))


def _find_overlapping_sets(
    scored: ScoredCandidates, candidates: CandidateSets, history: SetHistory, votes: Floats
) -> _NearbySets:
    counts = history.counts_without(scored.own_run)
    holders = history.holders[history.find_rows(scored.tools[candidates.columns])]
    overlapping = np.flatnonzero(holders.any(axis=0) & (counts > 0))
    similarity = np.maximum(scored.similarity, 0)
    if scored.own_run is not None:
        similarity[scored.own_run] = 0
    return _NearbySets(
        holders=holders[:, overlapping].astype(np.float32),
        sizes=history.sizes[overlapping].astype(np.float32),
        counts=counts[overlapping].astype(np.float32),
        similarity=history.max_by_set(similarity)[overlapping].astype(np.float32),
        votes=history.sum_by_set(votes)[overlapping].astype(np.float32),
    )


def _log_size_share(
    scored: ScoredCandidates, sizes: Column, history: SetHistory, votes: Floats
) -> Column:
    local = np.bincount(history.size_of, votes, MAX_SET_SIZE + 1)
    overall = history.size_counts_without(scored.own_run) + 0.1
    share = LOCAL_SHARE * local + (1 - LOCAL_SHARE) * overall / overall.sum()
    by_size = np.log(share + 0.01).astype(np.float32)
    return np.asarray(by_size[np.minimum(sizes, MAX_SET_SIZE).astype(np.intp)])


def _compute_mean_pmi(candidates: CandidateSets, near: _NearbySets, runs: int) -> Column:
    """Return the mean over pairs of log p(a, b) / (p(a) p(b)), smoothed."""
    together = (near.holders * near.counts) @ near.holders.T
    alone = np.diag(together) + 1
    expected = np.outer(alone, alone) / (runs + 1) + 0.3
    return candidates.compute_pair_mean(np.log((together + 0.3) / expected))


def _superset_columns(
    contained: NDArray[np.bool_], sizes: Column, near: _NearbySets
) -> list[Column]:
    """Return the columns on runs with a superset of each set, or exactly the set."""
    supersets = contained @ near.counts
    # On a flat array, numpy finds the few that are equal four times as fast.
    equal = np.flatnonzero(contained & (near.sizes == sizes[:, None]))
    rows, sets = np.divmod(equal, max(len(near.sizes), 1))
    columns = [np.zeros(len(sizes), dtype=np.float32) for _ in range(4)]
    is_known, count, similarity, votes = columns
    is_known[rows] = 1
    count[rows] = near.counts[sets]
    similarity[rows] = near.similarity[sets]
    votes[rows] = near.votes[sets]
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
