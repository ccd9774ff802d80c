"""Find where the threshold of a waste budget starts, from what past sessions would have shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from execution.speculation.waste_budget import (
    MAX_THRESHOLD,
    default_threshold,
    rank_dispatch,
)

if TYPE_CHECKING:
    from graph.suggestion.next_call.fitting import (
        CandidateKey,
        RehearsedPoint,
        RehearsedSession,
    )

THRESHOLDS: Final = tuple(step / 50 for step in range(1, 50))
"""Thresholds that are tried."""
LEAST_DISPATCHES: Final = 20
"""Rehearsed dispatches below which a share of waste says little."""


def find_threshold(rehearsed: Sequence[RehearsedSession], budget: float) -> float:
    """Return the lowest threshold that keeps rehearsed dispatches within a waste budget.

    A rehearsal knows less than the model that it stands for, most of all of the few best
    predictions. So the threshold is never above the one that a budget without history starts at.

    Args:
        rehearsed: What would have been predicted in past sessions, by what others taught.
        budget: Share of dispatched calls that may go unused, in [0, 1].

    Complexity:
        Linear in the predictions, times `THRESHOLDS`. Deterministic.
    """
    highest = default_threshold(budget)
    for threshold in THRESHOLDS:
        if threshold >= highest:
            break
        dispatched, wasted = _count_waste(rehearsed, threshold)
        if dispatched < LEAST_DISPATCHES:
            break
        if wasted <= budget * dispatched:
            return threshold
    return min(highest, MAX_THRESHOLD)


def _count_waste(rehearsed: Sequence[RehearsedSession], threshold: float) -> tuple[int, int]:
    """Return how many calls would have been dispatched, and how many of them were never used."""
    found = [_count_session(session, threshold) for session in rehearsed]
    return sum(dispatched for dispatched, _ in found), sum(wasted for _, wasted in found)


def _count_session(session: RehearsedSession, threshold: float) -> tuple[int, int]:
    pending: dict[CandidateKey, int] = {}
    dispatched = wasted = 0
    for point in session:
        for key in [key for key, last in pending.items() if last < point.done]:
            del pending[key]
        for prediction in point.predictions:
            rank = rank_dispatch(prediction.chance, prediction.next_chance)
            if rank >= threshold and prediction.key not in pending:
                pending[prediction.key] = _find_end(point, prediction.comes_at)
                dispatched += 1
                wasted += prediction.comes_at < 0
    return dispatched, wasted


def _find_end(point: RehearsedPoint, comes_at: int) -> int:
    """Return the index of the call that resolves a prediction."""
    return comes_at if comes_at >= 0 else point.end
