"""An intent's candidates and all that is known of each, for a model to weigh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking.candidates import candidates
from graph.ranking.history_features import HISTORY, Evidence, history_features
from graph.ranking.scored import Scored
from graph.ranking.static_features import STATIC, Compared, compare

if TYPE_CHECKING:
    from graph.intent.encoded import Encoded
    from graph.ranking.past import Past
    from graph.ranking.tool_view import ToolView

FEATURES: Final = STATIC + HISTORY

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Described:
    """An intent's k candidates, and what is known of each.

    Attributes:
        compared: The intent beside all tools.
        evidence: What past intents say; None without any.
        at: Positions of the candidates in the view, ascending, shape (k,).
        rows: `FEATURES` of each, shape (k, f); zeros for history without any.
        votes: Of like clauses, shape (k, c).
    """

    compared: Compared
    evidence: Evidence | None
    at: Positions
    rows: Floats
    votes: Floats

    def scored(self, logits: Doubles, *, familiarity: float = 1.0) -> Scored:
        """Put logits of the candidates, and how familiar the intent is, beside the rest."""
        compared, evidence = self.compared, self.evidence
        view, encoded = compared.view, compared.encoded
        nothing = np.zeros(0, dtype=np.float32)
        return Scored(
            tools=view.tools[self.at],
            logits=logits,
            vectors=view.vectors(self.at),
            servers=view.servers[self.at],
            clause_cosines=compared.clauses[:, self.at].T,
            shares=compared.shares(self.at),
            votes=self.votes,
            similarity=nothing if evidence is None else evidence.similarity,
            size=None if evidence is None else evidence.size,
            sentences=len(encoded.sentences),
            clauses=len(encoded.clauses),
            length=encoded.length,
            own=None if evidence is None else evidence.own,
            familiarity=familiarity,
        )


def describe(
    encoded: Encoded,
    view: ToolView,
    past: Past | None,
    evidence: Evidence | None,
    *,
    considered: Sequence[int] = (),
) -> Described:
    """Choose the candidates of an intent and work out their features."""
    compared = compare(encoded, view)
    at = candidates(compared, past, evidence, considered=considered)
    rows = np.zeros((len(at), len(FEATURES)), dtype=np.float32)
    votes = np.zeros((len(at), len(encoded.clauses)), dtype=np.float32)
    if len(at):
        rows[:, : len(STATIC)] = compared.features(at)
    if past is not None and evidence is not None:
        columns = past.columns(view.tools[at])
        rows[:, len(STATIC) :] = history_features(evidence, past.calls, columns)
        votes[columns >= 0] = evidence.votes[:, columns[columns >= 0]].T
    return Described(compared=compared, evidence=evidence, at=at, rows=rows, votes=votes)
