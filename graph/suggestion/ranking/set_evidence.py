"""Features of candidate sets from the evidence of past runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.set_candidates import CandidateSets
from graph.suggestion.ranking.set_history import MAX_SET_SIZE, Floats, SetHistory

if TYPE_CHECKING:
    from graph.suggestion.ranking.candidates import Candidates

Column = NDArray[np.float32]

EVIDENCE_FEATURES: Final = (
    "predicted_distance",  # negative distance of the size from the predicted one
    "log_size_share",  # logarithm of the size's share among similar runs
    "expected_f1",  # expected F1 with the sets of similar runs
    "is_known",  # whether runs had exactly this set
    "log_set_runs",  # logarithm of their number
    "set_similarity",  # similarity of the nearest of them
    "set_votes",  # their votes
)

VOTE_WIDTH: Final = 0.08
"""A run's vote falls by a factor of e per this much cosine below the nearest run."""

LOCAL_SHARE: Final = 0.8
"""Weight of similar runs, against all runs, in the probability of a size."""


def compute_evidence_features(
    scored: Candidates, candidates: CandidateSets, history: SetHistory
) -> list[Column]:
    """Return the columns of `EVIDENCE_FEATURES`, shape (m,) each."""
    run_votes = _compute_run_votes(scored)
    votes = history.sum_by_set(run_votes).astype(np.float32)
    rows = history.find_rows(scored.tools[candidates.columns])
    holders = history.holders[rows].astype(np.float32)
    sizes = candidates.sizes
    predicted = sizes if scored.predicted_size is None else np.float32(scored.predicted_size)
    return [
        -abs(sizes - predicted),
        _log_size_share(scored, sizes, history, run_votes),
        _compute_expected_f1(candidates, holders, history, votes),
        *_describe_equal_sets(scored, candidates, history, votes),
    ]


def _compute_run_votes(scored: Candidates) -> Floats:
    """Return each run's share of the votes by similarity, shape (N,), sum about 1."""
    similarity = scored.similarity.astype(np.float64)
    if scored.own_run is not None:
        similarity[scored.own_run] = -1
    votes = np.exp((similarity - similarity.max()) / VOTE_WIDTH)
    if scored.own_run is not None:
        votes[scored.own_run] = 0
    return np.asarray(votes / (votes.sum() + 1e-9))


def _log_size_share(
    scored: Candidates, sizes: Column, history: SetHistory, votes: Floats
) -> Column:
    local = np.bincount(history.size_of, votes, MAX_SET_SIZE + 1)
    overall = history.size_counts_without(scored.own_run) + 0.1
    share = LOCAL_SHARE * local + (1 - LOCAL_SHARE) * overall / overall.sum()
    by_size = np.log(share + 0.01).astype(np.float32)
    return np.asarray(by_size[np.minimum(sizes, MAX_SET_SIZE).astype(np.intp)])


def _compute_expected_f1(
    candidates: CandidateSets, holders: NDArray[np.float32], history: SetHistory, votes: Column
) -> Column:
    """Return the mean F1 of each candidate set with those of past runs, weighted by their votes.

    F1 is 2 · shared / (size + other size): of past sets of one size, only the votes for each tool
    matter.
    """
    other_sizes = history.sizes.astype(np.intp)
    votes_by_size = np.zeros((len(votes), int(other_sizes.max()) + 1), dtype=np.float32)
    votes_by_size[np.arange(len(votes)), other_sizes] = votes
    shared = candidates.members @ (holders @ votes_by_size)
    added = candidates.sizes[:, None] + np.arange(shared.shape[1], dtype=np.float32)
    return np.asarray(2 * (shared / added).sum(axis=1))


def _describe_equal_sets(
    scored: Candidates, candidates: CandidateSets, history: SetHistory, votes: Column
) -> list[Column]:
    """Return the columns from "is_known" on: what runs with exactly the set tell."""
    counts = history.counts_without(scored.own_run)
    similarity = np.maximum(scored.similarity, 0)  # -1 to itself
    nearest = history.max_by_set(similarity.astype(np.float64))
    tools = scored.tools[candidates.columns]
    by_key = np.argsort(tools)
    columns = np.zeros((4, len(candidates.sizes)), dtype=np.float32)
    for at, is_member in enumerate(candidates.members[:, by_key] > 0):
        which = history.sets.get(tuple(tools[by_key][is_member].tolist()))
        if which is not None and counts[which] > 0:
            columns[:, at] = 1, np.log1p(counts[which]), nearest[which], votes[which]
    return list(columns)
