"""The candidate tools of an intent: which are worth scoring, and what is known of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.history_features import (
    HISTORY_FEATURES,
    HistoryEvidence,
    compute_history_features,
)
from graph.suggestion.ranking.static_features import (
    STATIC_FEATURES,
    IntentComparison,
    top_positions,
)

if TYPE_CHECKING:
    from graph.suggestion.ranking.past_intents import PastIntents
    from graph.suggestion.ranking.tool_view import ToolView

FEATURES: Final = STATIC_FEATURES + HISTORY_FEATURES

MAX_BY_HISTORY: Final = 25
MAX_BY_NEARNESS: Final = 12
"""Candidates by history, and by each kind of similarity: with 200 past runs of ultratool they
include 97 % of the tools called, with all runs 99 %."""

MAX_LOOKED_UP: Final = 4 * MAX_BY_HISTORY
"""Tools looked up in the catalogue at first: some may be gone, or not allowed."""

MAX_NEAREST: Final = 60
"""Limit of past intents that are looked at one by one."""

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """The k candidate tools of one intent, ascending by primary key.

    Attributes:
        tools: Primary keys, shape (k,).
        features: `FEATURES` of each, shape (k, f); history features are 0 without history.
        logits: Log-odds that a tool is in the workflow, shape (k,); 0 until they are scored.
        vectors: Vectors of the tools, shape (k, d); zeros if a tool has none.
        servers: Primary keys of their servers, shape (k,).
        clause_cosines: Cosine of each tool and each clause of the intent, shape (k, c).
        clause_shares: Fit of a tool to a clause relative to the best tool of the whole catalogue:
            exp((cosine - best) / `SHARE_WIDTH`), shape (k, c).
        was_called: Whether a past run called each, shape (k,).
        nearest_similarity: Similarity of the nearest past intent; 0 without history.
        similarity: Similarity to each of the n `PastIntents`, in [-1, 1], shape (n,); -1 to
            itself if the intent is one of them.
        predicted_size: Expected number of tools in the workflow; None without history.
        sentence_count: Sentences of the intent.
        clause_count: Clauses of the intent.
        length: Characters of the intent.
        own_run: Index among the past intents; None for a new intent. All values here leave out
            the evidence of that run itself.
        familiarity: Weight of past runs against the text alone, in [0, 1].
    """

    tools: Ints
    features: Floats
    logits: Doubles
    vectors: Floats
    servers: Ints
    clause_cosines: Floats
    clause_shares: Floats
    was_called: NDArray[np.bool_]
    nearest_similarity: float
    similarity: Floats
    predicted_size: float | None
    sentence_count: int
    clause_count: int
    length: int
    own_run: int | None
    familiarity: float = 1.0

    @cached_property
    def nearest_past(self) -> Positions:
        """The past intents nearest to this one, at most `MAX_NEAREST`, nearest first."""
        distance = -self.similarity
        nearest = np.argpartition(distance, min(MAX_NEAREST, len(distance)) - 1)[:MAX_NEAREST]
        return nearest[np.argsort(distance[nearest], kind="stable")]


def describe_candidates(
    compared: IntentComparison,
    past: PastIntents | None,
    evidence: HistoryEvidence | None,
    *,
    considered: Sequence[int] = (),
) -> Candidates:
    """Choose the candidates of an intent among the tools that are allowed, and describe them.

    Candidates are the tools with the highest scores from history, those nearest to the whole
    intent, its masked form and its clauses, and those in `considered`.

    Args:
        compared: The intent compared with the tools visible to the caller.
        past: Past intents; None without history.
        evidence: Their evidence; None without history.
        considered: Primary keys of tools to include in any case; invisible ones are left out.
    """
    encoded, view = compared.encoded, compared.view
    positions = _choose_positions(compared, past, evidence, considered)
    features = np.zeros((len(positions), len(FEATURES)), dtype=np.float32)
    was_called = np.zeros(len(positions), dtype=np.bool_)
    if len(positions):
        features[:, : len(STATIC_FEATURES)] = compared.compute_features(positions)
    if past is not None and evidence is not None:
        columns = past.find_columns(view.tools[positions])
        of_history = compute_history_features(evidence, past.calls, columns)
        features[:, len(STATIC_FEATURES) :] = of_history
        was_called = evidence.find_called(columns)
    return Candidates(
        tools=view.tools[positions],
        features=features,
        logits=np.zeros(len(positions)),
        vectors=view.vectors_at(positions),
        servers=view.servers[positions],
        clause_cosines=compared.clauses[:, positions].T,
        clause_shares=compared.compute_clause_shares(positions),
        was_called=was_called,
        nearest_similarity=0.0 if evidence is None else float(evidence.similarity.max()),
        similarity=np.zeros(0, dtype=np.float32) if evidence is None else evidence.similarity,
        predicted_size=None if evidence is None else evidence.predicted_size,
        sentence_count=len(encoded.sentences),
        clause_count=len(encoded.clauses),
        length=encoded.length,
        own_run=None if evidence is None else evidence.own_run,
    )


def _choose_positions(
    compared: IntentComparison,
    past: PastIntents | None,
    evidence: HistoryEvidence | None,
    considered: Sequence[int],
) -> Positions:
    """Return the positions of the candidates in the view, ascending."""
    view = compared.view
    rows = [compared.whole, compared.masked, compared.nearest_clause]
    if view.allowed is not None:
        rows = [np.where(view.allowed, row, np.float32(-2)) for row in rows]
    nearest = [top_positions(row, MAX_BY_NEARNESS) for row in rows]
    if past is not None and evidence is not None:
        nearest.append(_history_candidates(view, past, evidence))
    if considered:
        nearest.append(view.find_positions(considered))
    positions = np.unique(np.concatenate(nearest))
    positions = positions[positions >= 0]
    return positions if view.allowed is None else positions[view.allowed[positions]]


def _history_candidates(view: ToolView, past: PastIntents, evidence: HistoryEvidence) -> Positions:
    """Return the positions of the tools with the highest scores from history."""
    called = np.flatnonzero(evidence.counts > 0)
    order = called[top_positions(evidence.wanted_scores[called], MAX_LOOKED_UP)]
    found = _eligible_positions(view, past.tools[order])
    if len(found) < MAX_BY_HISTORY and len(called) > MAX_LOOKED_UP:
        order = called[top_positions(evidence.wanted_scores[called], len(called))]
        found = _eligible_positions(view, past.tools[order])
    return found[:MAX_BY_HISTORY]


def _eligible_positions(view: ToolView, tools: NDArray[np.int64]) -> Positions:
    """Return the positions of the allowed tools, in order."""
    positions = view.find_positions(tools)
    positions = positions[positions >= 0]
    return positions if view.allowed is None else positions[view.allowed[positions]]
