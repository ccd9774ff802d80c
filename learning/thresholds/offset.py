"""How over- or underconfident predictions are: one offset in log-odds, with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from learning.thresholds.counts import CELLS

LOG_ODDS: Final = tuple(
    math.log(middle / (1.0 - middle)) for middle in ((cell + 0.5) / CELLS for cell in range(CELLS))
)
"""Log-odds of the middle of each cell."""
MAX_STEPS: Final = 30
MAX_STEP: Final = 1.0
"""Longest step of Newton's method, in log-odds, so that it cannot overshoot into saturation."""
TOLERANCE: Final = 1e-6
MAX_OFFSET: Final = 12.0
"""Beyond it all probabilities are 0 or 1."""


@dataclass(frozen=True, slots=True)
class Offset:
    """Normal distribution of the offset between confidence and success, in log-odds.

    Attributes:
        mean: Positive: predictions succeed more often than their confidence says.
        variance: Of the offset.
    """

    mean: float
    variance: float

    def widen(self, variance: float) -> Offset:
        """Return the distribution for a narrower level, which differs by this variance."""
        return Offset(self.mean, self.variance + variance)

    def expected_successes(self) -> list[float]:
        """Return the probability of success in each cell."""
        return _apply_offset(self.mean)


@dataclass(frozen=True, slots=True)
class Tail:
    """Success of the predictions at or above a confidence.

    Attributes:
        success: Expected share of successes, in [0, 1].
        deviation: Standard deviation of that share, from the uncertainty of the offset.
    """

    success: float
    deviation: float


def fit_offset(prior: Offset, successes: Sequence[float], totals: Sequence[float]) -> Offset:
    """Return the posterior of the offset: its mode, and the curvature there (Laplace).

    Args:
        prior: Before these outcomes.
        successes: Weight of the successes in each cell.
        totals: Weight of all outcomes in each cell.

    References:
        Platt, Probabilistic outputs for support vector machines (1999), with the slope fixed
        at 1: a failure then never raises the success expected anywhere.
    """
    cells = [(x, s, n) for x, s, n in zip(LOG_ODDS, successes, totals, strict=True) if n > 0.0]
    offset, precision = prior.mean, 1.0 / prior.variance
    for _ in range(MAX_STEPS):
        gradient, curvature = (prior.mean - offset) / prior.variance, 1.0 / prior.variance
        for x, success, total in cells:
            expected = _logistic(x + offset)
            gradient += success - total * expected
            curvature += total * expected * (1.0 - expected)
        precision = curvature
        step = max(-MAX_STEP, min(MAX_STEP, gradient / curvature))
        offset += step
        if abs(step) < TOLERANCE:
            break
    return Offset(offset, 1.0 / precision)


def describe_tails(offset: Offset, weights: Sequence[float]) -> list[Tail]:
    """Return the tail that begins at each cell.

    Args:
        offset: Distribution of the offset.
        weights: Weight of each cell's confidences; positive.
    """
    tails: list[Tail] = []
    weight_sum = success = sensitivity = 0.0
    expected = offset.expected_successes()
    for cell in reversed(range(CELLS)):
        weight_sum += weights[cell]
        success += weights[cell] * expected[cell]
        sensitivity += weights[cell] * expected[cell] * (1.0 - expected[cell])
        deviation = math.sqrt(offset.variance) * sensitivity / weight_sum
        tails.append(Tail(success / weight_sum, deviation))
    tails.reverse()
    return tails


@cache
def find_initial_offset(
    initial: float, *, target: float, caution: float, deviation: float
) -> Offset:
    """Return the prior by which a threshold starts where it is meant to.

    By it, with confidences spread evenly, the lower bound of the success at or above the initial
    threshold is exactly the target.

    Args:
        initial: Threshold without evidence, in [0, 1).
        target: Share of successes aimed at, in (0, 1).
        caution: Standard deviations between the expected success and its lower bound.
        deviation: Standard deviation of the offset, in log-odds.
    """
    cell = min(CELLS - 1, round(initial * CELLS))
    low, high = -MAX_OFFSET, MAX_OFFSET
    while high - low > TOLERANCE:
        middle = (low + high) / 2.0
        tail = describe_tails(Offset(middle, deviation**2), (1.0,) * CELLS)[cell]
        if tail.success - caution * tail.deviation < target:
            low = middle
        else:
            high = middle
    return Offset(high, deviation**2)


def _apply_offset(offset: float) -> list[float]:
    return [_logistic(x + offset) for x in LOG_ODDS]


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
