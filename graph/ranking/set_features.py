"""What speaks for each candidate set: its tools, its size, and the clauses that it covers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking import set_evidence
from graph.ranking.set_candidates import Candidates
from graph.ranking.set_history import SetHistory

if TYPE_CHECKING:
    from graph.ranking.scored import Scored

Column = NDArray[np.float32]

FEATURES: Final = (
    *("sumLR", "minIn", "maxOut", "gap"),
    *("n1", "n2", "n3", "n4", "n5"),
    *("cover", "covermin", "covgain", "wins", "szcl", "sentdiff", "lenq", "meancos", "server"),
    *set_evidence.FEATURES,
)
"""Tools: sum of their logits; the lowest of the set, the highest left out, the distance between.
Size: 1 to 4, 5 or more. Text: mean and least share of a clause that the set covers, the sum by
tool; distinct best tools of clauses by tool; distance of the size from the clauses and from the
sentences; the text's length against the size; mean cosine of the tools; pairs of one server."""

LOWEST: Final = -15.0
"""Logit of the best tool left out where none is."""

MOST_CLAUSES: Final = 8


def set_features(
    scored: Scored, candidates: Candidates, history: SetHistory | None
) -> NDArray[np.float32]:
    """Return what speaks for each set, shape (m, len(FEATURES)).

    Of a scored run of the history itself (`scored.own`) everything that it alone says is left
    out, so that a model fitted on these rows meets the like for a new intent. Without history,
    its features are 0.

    Complexity: O(m · n · (clauses + sets of past runs that share a tool)).
    """
    columns = [
        *_tool_features(scored, candidates),
        *_size_features(candidates),
        *_text_features(scored, candidates),
    ]
    if history is not None:
        columns += set_evidence.features(scored, candidates, history)
    rows = np.zeros((len(candidates.sizes), len(FEATURES)), dtype=np.float32)
    for at, column in enumerate(columns):
        rows[:, at] = column
    return rows


def _tool_features(scored: Scored, candidates: Candidates) -> list[Column]:
    members = candidates.members
    logits = scored.logits[candidates.columns].astype(np.float32)
    lowest = np.where(members > 0, logits, np.float32(np.inf)).min(axis=1)
    highest = np.where(members > 0, np.float32(LOWEST), logits).max(axis=1)
    return [members @ logits, lowest, highest, lowest - highest]


def _size_features(candidates: Candidates) -> list[Column]:
    sizes = candidates.sizes
    told = [*(sizes == size for size in (1, 2, 3, 4)), sizes >= 5]
    return [column.astype(np.float32) for column in told]


def _text_features(scored: Scored, candidates: Candidates) -> list[Column]:
    members, sizes = candidates.members, candidates.sizes
    shares = scored.shares[candidates.columns].astype(np.float32)
    winners = _winners(members, scored.clause_cosines[candidates.columns])
    covered = shares[winners, np.arange(shares.shape[1])]
    changes = np.diff(np.sort(winners, axis=1), axis=1) > 0
    vectors = scored.vectors[candidates.columns]
    servers = scored.servers[candidates.columns]
    return [
        covered.mean(axis=1),
        covered.min(axis=1),
        covered.sum(axis=1) / sizes,
        (1 + changes.sum(axis=1)).astype(np.float32) / sizes,
        -abs(min(scored.clauses, MOST_CLAUSES) - sizes),
        -abs(scored.sentences - sizes),
        np.float32(np.log(scored.length + 1) / 4) * (sizes - 2),
        candidates.mean_over_pairs(vectors @ vectors.T),
        candidates.mean_over_pairs(servers[:, None] == servers[None]),
    ]


def _winners(members: NDArray[np.float32], cosines: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the column of each set's best tool for each clause, shape (m, c)."""
    held = members[:, :, None] > 0
    fits = np.where(held, cosines[None].astype(np.float32), np.float32(-2))
    return np.asarray(fits.argmax(axis=1), dtype=np.intp)
