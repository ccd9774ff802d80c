"""Which tools are worth scoring for an intent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.ranking.static_features import Compared, highest

if TYPE_CHECKING:
    from graph.ranking.history_features import Evidence
    from graph.ranking.past import Past
    from graph.ranking.tool_view import ToolView

WANTED: Final = 25
NEAR: Final = 12
"""The first by history, and by each kind of nearness: with 200 past runs of ultratool 97 % of the
tools called are among them, with all runs 99 %."""

LOOKED_UP: Final = 4 * WANTED
"""Tools looked up in the catalogue first: some may be gone, or not allowed."""

Positions = NDArray[np.intp]


def candidates(
    compared: Compared,
    past: Past | None,
    evidence: Evidence | None,
    *,
    considered: Sequence[int] = (),
) -> Positions:
    """Choose the candidates of an intent among the tools that are allowed.

    Args:
        compared: The intent beside all tools.
        past: Past intents; None without any.
        evidence: What they say; None without any.
        considered: Primary keys of tools to take in any case.

    Returns:
        Positions, ascending.
    """
    view = compared.view
    rows = [compared.whole, compared.masked, compared.nearest_clause]
    if view.allowed is not None:
        rows = [np.where(view.allowed, row, np.float32(-2)) for row in rows]
    chosen = [highest(row, NEAR) for row in rows]
    if past is not None and evidence is not None:
        chosen.append(_wanted(view, past, evidence))
    if considered:
        chosen.append(view.find(considered))
    found = np.unique(np.concatenate(chosen))
    found = found[found >= 0]
    return found if view.allowed is None else found[view.allowed[found]]


def _wanted(view: ToolView, past: Past, evidence: Evidence) -> Positions:
    """Return the positions of the tools that history says most for."""
    known = np.flatnonzero(evidence.counts > 0)
    order = known[highest(evidence.wanted[known], LOOKED_UP)]
    found = _eligible(view, past.tools[order])
    if len(found) < WANTED and len(known) > LOOKED_UP:
        order = known[highest(evidence.wanted[known], len(known))]
        found = _eligible(view, past.tools[order])
    return found[:WANTED]


def _eligible(view: ToolView, tools: NDArray[np.int64]) -> Positions:
    """Return the positions of tools that may be candidates, in their order."""
    at = view.find(tools)
    at = at[at >= 0]
    return at if view.allowed is None else at[view.allowed[at]]
