"""Features of candidate sets: their tools, sizes, and the clauses they cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking import set_evidence
from graph.suggestion.ranking.set_candidates import CandidateSets
from graph.suggestion.ranking.set_history import SetHistory

if TYPE_CHECKING:
    from graph.suggestion.ranking.candidates import Candidates

Column = NDArray[np.float32]

SET_FEATURES: Final = (
    "log_odds",  # sum of the log-odds of its tools
    "lowest_inside",  # lowest log-odds of its tools
    "highest_outside",  # highest log-odds of the other tools
    "inside_lead",  # the difference of these two
    *("size_1", "size_2", "size_3", "size_4", "size_5"),  # its size, one-hot; 5 or more
    "clause_cover",  # mean over the clauses of the best fit of its tools
    "least_cover",  # the lowest of these fits
    "cover_per_tool",  # their sum per tool
    "winners_per_tool",  # distinct best tools of clauses per tool
    "clause_distance",  # negative distance of the size from the number of clauses
    "sentence_distance",  # negative distance of the size from the number of sentences
    "length_by_size",  # logarithm of the text's length, times the size minus 2
    "pair_cosine",  # mean cosine of its tools
    "same_server",  # share of its pairs of tools that are of one server
    *set_evidence.EVIDENCE_FEATURES,
)

NO_OUTSIDER_LOGIT: Final = -15.0
"""Logit of the best tool outside a set that contains all tools."""

MAX_CLAUSES: Final = 8


def compute_set_features(
    scored: Candidates, candidates: CandidateSets, history: SetHistory | None
) -> NDArray[np.float32]:
    """Return `SET_FEATURES` of each set, shape (m, len(SET_FEATURES)).

    For a past run (`scored.own_run`) its own evidence is left out, so that training rows resemble
    those of new intents. Without history, its features are 0.

    Complexity: O(m · n · (clauses + sets of past runs that share a tool)).
    """
    columns = [
        *_tool_features(scored, candidates),
        *_size_features(candidates),
        *_text_features(scored, candidates),
    ]
    if history is not None:
        columns += set_evidence.compute_evidence_features(scored, candidates, history)
    rows = np.zeros((len(candidates.sizes), len(SET_FEATURES)), dtype=np.float32)
    for at, column in enumerate(columns):
        rows[:, at] = column
    return rows


def _tool_features(scored: Candidates, candidates: CandidateSets) -> list[Column]:
    members = candidates.members
    logits = scored.logits[candidates.columns].astype(np.float32)
    lowest = np.where(members > 0, logits, np.float32(np.inf)).min(axis=1)
    highest = np.where(members > 0, np.float32(NO_OUTSIDER_LOGIT), logits).max(axis=1)
    return [members @ logits, lowest, highest, lowest - highest]


def _size_features(candidates: CandidateSets) -> list[Column]:
    sizes = candidates.sizes
    indicators = [*(sizes == size for size in (1, 2, 3, 4)), sizes >= 5]
    return [column.astype(np.float32) for column in indicators]


def _text_features(scored: Candidates, candidates: CandidateSets) -> list[Column]:
    members, sizes = candidates.members, candidates.sizes
    shares = scored.clause_shares[candidates.columns].astype(np.float32)
    winners = _best_members(members, scored.clause_cosines[candidates.columns])
    covered = shares[winners, np.arange(shares.shape[1])]
    changes = np.diff(np.sort(winners, axis=1), axis=1) > 0
    vectors = scored.vectors[candidates.columns]
    servers = scored.servers[candidates.columns]
    return [
        covered.mean(axis=1),
        covered.min(axis=1),
        covered.sum(axis=1) / sizes,
        (1 + changes.sum(axis=1)).astype(np.float32) / sizes,
        -abs(min(scored.clause_count, MAX_CLAUSES) - sizes),
        -abs(scored.sentence_count - sizes),
        np.float32(np.log(scored.length + 1) / 4) * (sizes - 2),
        candidates.compute_pair_mean(vectors @ vectors.T),
        candidates.compute_pair_mean(servers[:, None] == servers[None]),
    ]


def _best_members(members: NDArray[np.float32], cosines: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the column of each set's best tool for each clause, shape (m, c)."""
    is_member = members[:, :, None] > 0
    fits = np.where(is_member, cosines[None].astype(np.float32), np.float32(-2))
    return np.asarray(fits.argmax(axis=1), dtype=np.intp)
