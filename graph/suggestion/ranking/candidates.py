"""Choose the tools worth scoring for an intent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.static_features import IntentComparison, top_positions

if TYPE_CHECKING:
    from graph.suggestion.ranking.history_features import HistoryEvidence
    from graph.suggestion.ranking.past_intents import PastIntents
    from graph.suggestion.ranking.tool_view import ToolView

MAX_BY_HISTORY: Final = 25
MAX_BY_NEARNESS: Final = 12
"""Candidates by history, and by each kind of similarity: with 200 past runs of ultratool they
include 97 % of the tools called, with all runs 99 %."""

MAX_LOOKED_UP: Final = 4 * MAX_BY_HISTORY
"""Tools looked up in the catalogue at first: some may be gone, or not allowed."""

Positions = NDArray[np.intp]


def choose_candidates(
    compared: IntentComparison,
    past: PastIntents | None,
    evidence: HistoryEvidence | None,
    *,
    considered: Sequence[int] = (),
) -> Positions:
    """Choose the candidates of an intent among the tools that are allowed.

    Args:
        compared: The intent compared with all tools.
        past: Past intents; None without history.
        evidence: Their evidence; None without history.
        considered: Primary keys of tools to include in any case.

    Returns:
        Positions in the view, ascending.
    """
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
