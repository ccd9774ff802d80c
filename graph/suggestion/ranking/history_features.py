"""Features of a tool from the evidence of past runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.past_calls import CLOSE, WIDER, PastCalls

HISTORY_FEATURES: Final = (
    "score",  # score by ridge regression on similar intents
    "log_score",  # its logarithm
    "close_votes",  # share of the nearest runs that called it
    "wide_votes",  # the same with a wider kernel
    "tool_similarity",  # similarity of the nearest run that called it
    "in_nearest_run",  # whether the nearest run called it
    "run_similarity",  # similarity of the nearest run
    "log_calls",  # logarithm of the number of runs that called it
    "companion_score",  # how often it is called together with wanted tools
    "relative_score",  # `score` as a share of the highest
    "score_rank",  # 1 / (1 + rank by `score`)
)

NEW_SIMILARITY: Final = 0.8
SAME_SIMILARITY: Final = 0.95
"""Similarity up to which an intent is new, and from which it fully repeats another."""

MIN_WANTED: Final = 0.003
MAX_WANTED: Final = 1.5
EQUAL_TOLERANCE: Final = 1e-4
"""Scores that differ by no more rank equally, so that rounding does not order tools."""

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class HistoryEvidence:
    """Evidence of n past intents, which called u tools, for one intent.

    Attributes:
        similarity: Similarity to each past intent, shape (n,); -1 to itself.
        wanted_scores: Scores by ridge regression, shape (u,); -inf for a tool that no other run
            called.
        counts: Runs that called each tool, shape (u,).
        predicted_size: Expected number of tools.
        own_run: Index of the intent among the past ones; None for a new one. Its own run is
            excluded from all evidence.
    """

    similarity: Floats
    wanted_scores: Floats
    counts: Doubles
    predicted_size: float
    own_run: int | None

    def find_called(self, columns: Positions) -> NDArray[np.bool_]:
        """Return whether another run called each tool, by its index among the u, or -1."""
        return np.asarray((columns >= 0) & (np.append(self.counts, 0)[columns] > 0))


def compute_history_features(
    evidence: HistoryEvidence, calls: PastCalls, columns: Positions
) -> Floats:
    """Return `HISTORY_FEATURES` of tools, shape (len(columns), len(HISTORY_FEATURES)).

    Args:
        evidence: Evidence for the intent.
        calls: Calls of all past runs.
        columns: Index of each tool among the u, or -1 for one that no run called.
    """
    similarity, own = evidence.similarity, evidence.own_run
    scores = evidence.wanted_scores.astype(np.float64)
    nearest = int(similarity.argmax())
    by_tool = {
        "score": scores,
        "log_score": np.log(np.clip(scores, MIN_WANTED, MAX_WANTED)),
        "close_votes": calls.vote_shares(similarity, width=CLOSE, own=own),
        "wide_votes": calls.vote_shares(similarity, width=WIDER, own=own),
        "tool_similarity": calls.nearest_similarity(similarity),
        "in_nearest_run": _mark_called(calls, nearest, own),
        "log_calls": np.log(evidence.counts + 0.5),
        "companion_score": calls.co_call_scores(np.clip(scores, 0, 1), own=own),
        "relative_score": scores / max(float(scores.max(initial=0)), 0.05),
        "score_rank": 1 / (1 + _count_higher(scores)),
    }
    by_tool["run_similarity"] = np.full(calls.width, similarity[nearest])
    seen = np.where(evidence.find_called(columns), columns, -1)
    return _features_of_columns(by_tool, seen, float(similarity[nearest]))


def _features_of_columns(
    by_tool: dict[str, Doubles], columns: Positions, nearest: float
) -> Floats:
    unseen = {"log_score": np.log(MIN_WANTED), "log_calls": np.log(0.5), "run_similarity": nearest}
    positive = int((by_tool["score"] > EQUAL_TOLERANCE).sum())
    unseen["score_rank"] = 1 / (1 + positive)
    features = np.zeros((len(columns), len(HISTORY_FEATURES)), dtype=np.float32)
    is_seen = columns >= 0
    for place, name in enumerate(HISTORY_FEATURES):
        features[:, place] = unseen.get(name, 0)
        features[is_seen, place] = by_tool[name][columns[is_seen]]
    return features


def _mark_called(calls: PastCalls, run: int, own: int | None) -> Doubles:
    called = np.zeros(calls.width)
    if run != own:
        called[calls.tools_of_run(run)] = 1
    return called


def _count_higher(values: Doubles) -> Doubles:
    """Count, for each value, the values higher by more than `EQUAL_TOLERANCE`."""
    ascending = np.sort(values)
    return len(values) - np.searchsorted(ascending, values + EQUAL_TOLERANCE, "right").astype(
        np.float64
    )


def measure_repetition(similarities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map similarities to how much an intent repeats the past ones, each in [0, 1]."""
    return np.asarray(
        np.clip((similarities - NEW_SIMILARITY) / (SAME_SIMILARITY - NEW_SIMILARITY), 0, 1),
        dtype=np.float64,
    )
