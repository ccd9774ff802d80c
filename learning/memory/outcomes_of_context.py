"""How suggestions of the same kind of work turned out, and what that says of the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from execution.speculation.outcome import OutcomeSum
from learning.calibration import CalibrationMap

MAX_EFFECT: Final = 0.10
"""Largest change of a confidence by episodes: they say what kind of work is done well, not that
these tools are right."""
PRIOR_WEIGHT: Final = 50.0
"""Outcomes that came as predicted, assumed before any was seen: with fewer resolved ones a context
says little of itself. Chance alone then moves a calibrated confidence by at most 0.04 (one
standard deviation, at 50 outcomes of probability 0.5)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextOutcomes:
    """Resolved suggestions of one team in one context, weighted by how sure their outcomes are.

    Attributes:
        count: Weight of all of them.
        successes: Weight of those that were right.
        expected: Weighted sum of their confidences, calibrated as the next one's is: otherwise
            what calibration has corrected already would be corrected twice.
    """

    count: float = 0.0
    successes: float = 0.0
    expected: float = 0.0


NO_OUTCOMES: Final = ContextOutcomes()


def build_outcomes(sums: Sequence[OutcomeSum], calibration: CalibrationMap) -> ContextOutcomes:
    """Return the outcomes of one context."""
    return ContextOutcomes(
        count=sum(one.weight for one in sums),
        successes=sum(one.weight_right for one in sums),
        expected=sum(one.weight * calibration.apply(one.ranked_confidence) for one in sums),
    )


def adjust_confidence(confidence: float, outcomes: ContextOutcomes) -> float:
    """Return a confidence moved toward what the outcomes of its context show.

    It moves by the mean difference between outcomes and predictions, shrunk by `PRIOR_WEIGHT`, so
    that confidences that were right on average stay as they are.

    Args:
        confidence: Calibrated probability, in [0, 1].
        outcomes: Of the same team and context.

    Returns:
        A probability in [0, 1], at most `MAX_EFFECT` away.

    Example:
        >>> adjust_confidence(0.6, ContextOutcomes(count=50, successes=40, expected=30))
        0.7
        >>> adjust_confidence(0.6, ContextOutcomes(count=50, successes=30, expected=30))
        0.6
    """
    surplus = (outcomes.successes - outcomes.expected) / (outcomes.count + PRIOR_WEIGHT)
    return min(max(confidence + min(max(surplus, -MAX_EFFECT), MAX_EFFECT), 0.0), 1.0)
