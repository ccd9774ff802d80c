"""Find where the threshold of a waste budget starts, from what past sessions would have shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

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


class RehearsedWaste(NamedTuple):
    """What would have become of past sessions' predictions at one threshold.

    Attributes:
        threshold: In (0, 1).
        dispatched: Calls that would have been dispatched.
        wasted: Calls among these that would never have been used.
    """

    threshold: float
    dispatched: int
    wasted: int


def measure_waste(
    rehearsed: Sequence[RehearsedSession], *, tools: Collection[int] | None = None
) -> tuple[RehearsedWaste, ...]:
    """Return what each of `THRESHOLDS` would have dispatched and wasted, lowest first.

    Args:
        rehearsed: What would have been predicted in past sessions, by what others taught.
        tools: Primary keys of the tools that count; None: all.

    Complexity:
        Linear in the predictions, times `THRESHOLDS`. Deterministic.
    """
    return tuple(
        RehearsedWaste(threshold, *_count_waste(rehearsed, threshold, tools))
        for threshold in THRESHOLDS
    )


def find_threshold(waste: Sequence[RehearsedWaste], budget: float) -> float:
    """Return the lowest threshold that keeps rehearsed dispatches within a waste budget.

    A rehearsal knows less than the model that it stands for, most of all of the few best
    predictions. So the threshold is never above the one that a budget without history starts at.

    Args:
        waste: As `measure_waste` returns it.
        budget: Share of dispatched calls that may go unused, in [0, 1].
    """
    highest = default_threshold(budget)
    for threshold, dispatched, wasted in waste:
        if threshold >= highest:
            break
        if dispatched < LEAST_DISPATCHES:
            break
        if wasted <= budget * dispatched:
            return threshold
    return min(highest, MAX_THRESHOLD)


def _count_waste(
    rehearsed: Sequence[RehearsedSession], threshold: float, tools: Collection[int] | None
) -> tuple[int, int]:
    """Return how many calls would have been dispatched, and how many of them were never used."""
    found = [_count_session(session, threshold, tools) for session in rehearsed]
    return sum(dispatched for dispatched, _ in found), sum(wasted for _, wasted in found)


def _count_session(
    session: RehearsedSession, threshold: float, tools: Collection[int] | None
) -> tuple[int, int]:
    pending: dict[CandidateKey, int] = {}
    dispatched = wasted = 0
    for point in session:
        for key in [key for key, last in pending.items() if last < point.done]:
            del pending[key]
        for prediction in point.predictions:
            if tools is not None and prediction.key[0] not in tools:
                continue
            rank = rank_dispatch(prediction.chance, prediction.next_chance)
            if rank >= threshold and prediction.key not in pending:
                pending[prediction.key] = _find_end(point, prediction.comes_at)
                dispatched += 1
                wasted += prediction.comes_at < 0
    return dispatched, wasted


def _find_end(point: RehearsedPoint, comes_at: int) -> int:
    """Return the index of the call that resolves a prediction."""
    return comes_at if comes_at >= 0 else point.end
