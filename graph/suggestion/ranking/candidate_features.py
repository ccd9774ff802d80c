"""Compute the features of an intent's candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.candidates import choose_candidates
from graph.suggestion.ranking.history_features import (
    HISTORY_FEATURES,
    HistoryEvidence,
    compute_history_features,
)
from graph.suggestion.ranking.scored_candidates import ScoredCandidates
from graph.suggestion.ranking.static_features import (
    STATIC_FEATURES,
    IntentComparison,
    compare_intent,
)

if TYPE_CHECKING:
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.ranking.past_intents import PastIntents
    from graph.suggestion.ranking.tool_view import ToolView

FEATURES: Final = STATIC_FEATURES + HISTORY_FEATURES

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateFeatures:
    """The k candidates of an intent with their features.

    Attributes:
        comparison: The intent compared with all tools.
        history_evidence: Evidence of past intents; None without history.
        positions: Positions of the candidates in the view, ascending, shape (k,).
        rows: `FEATURES` of each, shape (k, f); history features are 0 without history.
        votes: Votes of similar past clauses, shape (k, c).
    """

    comparison: IntentComparison
    history_evidence: HistoryEvidence | None
    positions: Positions
    rows: Floats
    votes: Floats

    def to_scored(self, logits: Doubles, *, familiarity: float = 1.0) -> ScoredCandidates:
        """Combine the candidates with their logits and the intent's familiarity."""
        compared, evidence = self.comparison, self.history_evidence
        view, encoded = compared.view, compared.encoded
        nothing = np.zeros(0, dtype=np.float32)
        return ScoredCandidates(
            tools=view.tools[self.positions],
            logits=logits,
            vectors=view.vectors_at(self.positions),
            servers=view.servers[self.positions],
            clause_cosines=compared.clauses[:, self.positions].T,
            clause_shares=compared.compute_clause_shares(self.positions),
            clause_votes=self.votes,
            similarity=nothing if evidence is None else evidence.similarity,
            predicted_size=None if evidence is None else evidence.predicted_size,
            sentence_count=len(encoded.sentences),
            clause_count=len(encoded.clauses),
            length=encoded.length,
            own_run=None if evidence is None else evidence.own_run,
            familiarity=familiarity,
        )


def describe_candidates(
    encoded: EncodedIntent,
    view: ToolView,
    past: PastIntents | None,
    evidence: HistoryEvidence | None,
    *,
    considered: Sequence[int] = (),
) -> CandidateFeatures:
    """Compare an intent with all tools, choose its candidates and compute their features."""
    return describe_compared(compare_intent(encoded, view), past, evidence, considered=considered)


def describe_compared(
    compared: IntentComparison,
    past: PastIntents | None,
    evidence: HistoryEvidence | None,
    *,
    considered: Sequence[int] = (),
) -> CandidateFeatures:
    """Choose the candidates of a compared intent and compute their features."""
    encoded, view = compared.encoded, compared.view
    positions = choose_candidates(compared, past, evidence, considered=considered)
    rows = np.zeros((len(positions), len(FEATURES)), dtype=np.float32)
    votes = np.zeros((len(positions), len(encoded.clauses)), dtype=np.float32)
    if len(positions):
        rows[:, : len(STATIC_FEATURES)] = compared.compute_features(positions)
    if past is not None and evidence is not None:
        columns = past.find_columns(view.tools[positions])
        rows[:, len(STATIC_FEATURES) :] = compute_history_features(evidence, past.calls, columns)
        votes[columns >= 0] = evidence.votes[:, columns[columns >= 0]].T
    return CandidateFeatures(
        comparison=compared, history_evidence=evidence, positions=positions, rows=rows, votes=votes
    )
