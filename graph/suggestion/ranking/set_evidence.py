"""Features of candidate sets from the evidence of past runs."""

from __future__ import annotations

from dataclasses import dataclass
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
    "mutual_information",  # mean pointwise mutual information of its pairs of tools
    "expected_f1",  # expected F1 with the sets of similar runs
    "log_supersets",  # logarithm of the number of runs that called all of its tools
    "never_together",  # whether no run did
    "set_closure",  # share of the runs with exactly this set among these
    "is_known",  # whether runs had exactly this set
    "log_set_runs",  # logarithm of their number
    "set_similarity",  # similarity of the nearest of them
    "set_votes",  # their votes
)

VOTE_WIDTH: Final = 0.08
"""A run's vote falls by a factor of e per this much cosine below the nearest run."""

LOCAL_SHARE: Final = 0.8
"""Weight of similar runs, against all runs, in the probability of a size."""

UNKNOWN_CLOSURE: Final = 0.3

BLOCK_CELLS: Final = 32_000
"""Pairs of a candidate set and a set of past runs that are compared at a time: all at once, the
matrices leave a core's cache, and comparing takes three times as long."""

LARGEST_COUNTED: Final = 2
"""Up to this many tools, a matrix of pairs holds how many runs called them together."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _ComparedSets:
    """The q sets of past runs that are compared with each candidate set.

    They have more than `LARGEST_COUNTED` of the candidates' tools or no other tool: only these can
    contain a larger candidate set, or equal one.

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
    scored: Candidates, candidates: CandidateSets, history: SetHistory
) -> list[Column]:
    """Return the columns of `EVIDENCE_FEATURES`, shape (m,) each."""
    run_votes = _compute_run_votes(scored)
    votes = history.sum_by_set(run_votes).astype(np.float32)
    counts = history.counts_without(scored.own_run).astype(np.float32)
    rows = history.find_rows(scored.tools[candidates.columns])
    holders = history.holders[rows].astype(np.float32)
    together = np.asarray((holders * counts) @ holders.T, dtype=np.float32)
    sizes = candidates.sizes
    predicted = sizes if scored.predicted_size is None else np.float32(scored.predicted_size)
    others = history.run_count - (scored.own_run is not None)
    return [
        -abs(sizes - predicted),
        _log_size_share(scored, sizes, history, run_votes),
        _compute_mean_pmi(candidates, together, others),
        _compute_expected_f1(candidates, holders, history, votes),
        *_compare_sets(
            candidates, together, _select_compared(scored, history, holders, counts, votes)
        ),
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


def _select_compared(
    scored: Candidates,
    history: SetHistory,
    holders: NDArray[np.float32],
    counts: Column,
    votes: Column,
) -> _ComparedSets:
    shared = holders.sum(axis=0)
    is_compared = ((shared > LARGEST_COUNTED) | (shared == history.sizes)) & (counts > 0)
    compared = np.flatnonzero(is_compared)
    similarity = np.maximum(scored.similarity, 0)
    if scored.own_run is not None:
        similarity[scored.own_run] = 0
    return _ComparedSets(
        holders=holders[:, compared],
        sizes=history.sizes[compared].astype(np.float32),
        counts=counts[compared],
        similarity=history.max_by_set(similarity)[compared].astype(np.float32),
        votes=votes[compared],
    )


def _log_size_share(
    scored: Candidates, sizes: Column, history: SetHistory, votes: Floats
) -> Column:
    local = np.bincount(history.size_of, votes, MAX_SET_SIZE + 1)
    overall = history.size_counts_without(scored.own_run) + 0.1
    share = LOCAL_SHARE * local + (1 - LOCAL_SHARE) * overall / overall.sum()
    by_size = np.log(share + 0.01).astype(np.float32)
    return np.asarray(by_size[np.minimum(sizes, MAX_SET_SIZE).astype(np.intp)])


def _compute_mean_pmi(
    candidates: CandidateSets, together: NDArray[np.float32], runs: int
) -> Column:
    """Return the mean over pairs of log p(a, b) / (p(a) p(b)), smoothed."""
    alone = np.diag(together) + 1
    expected = np.outer(alone, alone) / (runs + 1) + 0.3
    return candidates.compute_pair_mean(np.log((together + 0.3) / expected))


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


def _compare_sets(
    candidates: CandidateSets, together: NDArray[np.float32], compared: _ComparedSets
) -> list[Column]:
    """Return the columns from "log_supersets" on.

    Args:
        candidates: m sets over n tools.
        together: Runs that called each pair of tools; on the diagonal, each tool, shape (n, n).
        compared: The sets of past runs that may contain one of more tools, or equal one.
    """
    members, sizes = candidates.members, candidates.sizes
    first = members.argmax(axis=1)
    last = members.shape[1] - 1 - members[:, ::-1].argmax(axis=1)
    supersets = np.where(sizes > LARGEST_COUNTED, 0, together[first, last])
    columns = np.zeros((4, len(sizes)), dtype=np.float32)
    rows = max(BLOCK_CELLS // max(len(compared.sizes), 1), 1)
    for start in range(0, len(sizes), rows):
        block = slice(start, start + rows)
        contained = members[block] @ compared.holders >= sizes[block, None] - 0.5
        is_larger = sizes[block] > LARGEST_COUNTED
        supersets[block][is_larger] = (contained @ compared.counts)[is_larger]
        _copy_evidence_of_equal(contained, sizes[block], compared, columns[:, block])
    is_known, count, similarity, votes = columns
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


def _copy_evidence_of_equal(
    contained: NDArray[np.bool_], sizes: Column, compared: _ComparedSets, columns: Column
) -> None:
    """Set the columns on runs with exactly the set, shape (4, b), where there are any."""
    # On a flat array, numpy finds the few that are equal four times as fast.
    equal = np.flatnonzero(contained & (compared.sizes == sizes[:, None]))
    rows, sets = np.divmod(equal, max(len(compared.sizes), 1))
    columns[0, rows] = 1
    columns[1:, rows] = compared.counts[sets], compared.similarity[sets], compared.votes[sets]
