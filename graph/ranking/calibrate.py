"""How sure to be of the best set: Platt scaling, held near the identity where runs are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from graph.ranking.logistic import fit_logistic, logit, sigmoid
from graph.ranking.set_history import Floats

WEIGHT: Final = 100.0
"""The identity counts as much as so many outcomes: the level of 50 outcomes is known to within
seven points only, and a map fitted freely to them was off by more than the raw probability."""

_PRECISION: Final = 0.25 * WEIGHT  # information of one outcome at even odds, on the level
_SLOPE_SCALE: Final = 2.0**0.5  # the slope is held twice as strongly as the level

TAUGHT_BY_OTHERS: Final = 50
"""Below so many runs the map is held half way to the one that holds in other catalogues: with 20
and 30 runs of four public sets that took the mean overconfidence from 2 to 3 points to 1."""

FEW: Final = 20
CEILING: Final = 0.69
"""Highest confidence with fewer runs: just below what a suggestion needs."""

LEAST: Final = 1e-4


@dataclass(frozen=True, kw_only=True)
class Calibrator:
    """confidence = sigmoid(level + slope · logit(reach · p)), capped.

    Attributes:
        reach: Share of past runs whose set was among the candidates, in (0, 1].
        level: 0 leaves probabilities as they are.
        slope: 1 leaves them as they are; below, they are moved towards one half.
        ceiling: Highest confidence, in (0, 1].
    """

    reach: float
    level: float
    slope: float
    ceiling: float

    def confidence(self, probability: float) -> float:
        """Return how likely the set is right, in [0, 1]."""
        odds = logit(np.array([probability * self.reach]), least=LEAST)
        sure = float(sigmoid(self.level + self.slope * odds)[0])
        return min(sure, self.ceiling)


def of_prior(level: float, slope: float) -> Calibrator:
    """Return the calibrator for no history."""
    return Calibrator(reach=1.0, level=level, slope=slope, ceiling=CEILING)


def fit_calibrator(
    likely: Floats,
    right: Floats,
    *,
    reached: int,
    prior: tuple[float, float],
) -> Calibrator:
    """Fit the map from held-out choices.

    Args:
        likely: Probability of each choice, by models that did not see it, shape (N,).
        right: Whether it was right, shape (N,).
        reached: Past runs whose set was among the candidates.
        prior: Level and slope that hold in other catalogues with a history of this size.

    References:
        Platt, Probabilistic outputs for support vector machines (1999).
    """
    runs = len(likely)
    reach = (reached + 2) / (runs + 3)
    level, slope = 0.0, 1.0
    if runs < TAUGHT_BY_OTHERS:
        level, slope = prior[0] / 2, (prior[1] + 1) / 2
    level, slope = platt(likely * reach, right, level=level, slope=slope)
    ceiling = CEILING if runs < FEW else 1.0
    return Calibrator(reach=reach, level=level, slope=slope, ceiling=ceiling)


def platt(
    likely: Floats, right: Floats, *, level: float, slope: float, weight: float = WEIGHT
) -> tuple[float, float]:
    """Fit level and slope of sigmoid(level + slope · logit p) towards given ones.

    Args:
        likely: Probabilities, shape (N,).
        right: Outcomes, 0 or 1, shape (N,).
        level: Expected before the outcomes were seen.
        slope: Likewise.
        weight: How many outcomes that counts for.
    """
    odds = logit(likely, least=LEAST)
    rows = np.stack([np.ones_like(odds), odds / _SLOPE_SCALE], axis=1)
    prior = np.array([level, slope * _SLOPE_SCALE])
    found = fit_logistic(rows, right, prior=prior, l2=_PRECISION * weight / WEIGHT)
    return float(found[0]), float(found[1] / _SLOPE_SCALE)
