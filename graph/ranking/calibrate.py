"""How sure to be of the best set: Platt scaling, held near the identity where runs are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.ranking.logistic import fit_logistic, logit, sigmoid
from graph.ranking.set_history import Floats

if TYPE_CHECKING:
    from graph.ranking.set_model import Judged

WEIGHT: Final = 100.0
"""The identity counts as much as so many outcomes: the level of 50 outcomes is known to within
seven points only, and a map fitted freely to them was off by more than the raw probability."""

REPEAT_WEIGHT: Final = 2.0
"""That a repeated intent is no surer than its probability says counts as much as so many outcomes;
with two, simulated teams of ten intents were 14 points too unsure of what recurs, with ten 22."""

NEW: Final = 0.8
SAME: Final = 0.95
"""Similarity of two intents up to which one does not repeat the other, and from which it does."""

_PRECISION: Final = 0.25  # information of one outcome at even odds, on the level
_SLOPE_SCALE: Final = 2.0**0.5  # the slope is held twice as strongly as the level

TAUGHT_BY_OTHERS: Final = 50
"""Below so many intents the map is held half way to the one that holds in other catalogues: with
20 and 30 of four public sets that took the mean overconfidence from 2 to 3 points to 1."""

FEW: Final = 20
CEILING: Final = 0.69
"""Highest confidence with fewer runs, and in new intents with fewer past ones: just below what a
suggestion needs."""

LEAST: Final = 1e-4


@dataclass(frozen=True, kw_only=True)
class Calibrator:
    """confidence = sigmoid(level + slope · logit(reach · p) + repeat · repetition), capped.

    Attributes:
        reach: Share of past intents whose set was among the candidates without them, in (0, 1].
        level: 0 leaves probabilities as they are.
        slope: 1 leaves them as they are; below, they are moved towards one half.
        repeat: How much surer to be of a set that ran for this very intent, in log-odds, >= 0.
        ceiling: Highest confidence in a new intent's set, in (0, 1].
        repeat_ceiling: Highest confidence in a set that ran for this very intent, in (0, 1].
        alone_level: Level for what history says nothing of.
        alone_slope: Slope, likewise.
    """

    reach: float
    level: float
    slope: float
    repeat: float
    ceiling: float
    repeat_ceiling: float
    alone_level: float = 0.0
    alone_slope: float = 1.0

    def confidence(
        self, probability: float, *, similarity: float = 0.0, familiarity: float = 1.0
    ) -> float:
        """Return how likely the set is right, in [0, 1].

        Args:
            probability: Of the set.
            similarity: Of the intent and the nearest past one that this very set ran for.
            familiarity: How far history was followed, in [0, 1].
        """
        known = self._of_history(probability, similarity)
        odds = logit(np.array([probability]), least=LEAST)
        alone = float(sigmoid(self.alone_level + self.alone_slope * odds)[0])
        return familiarity * known + (1 - familiarity) * min(alone, CEILING)

    def _of_history(self, probability: float, similarity: float) -> float:
        again = repetition(np.array([similarity]))
        odds = logit(np.array([probability * self.reach]), least=LEAST)
        sure = float(sigmoid(self.level + self.slope * odds + self.repeat * again)[0])
        return min(sure, self.repeat_ceiling if again[0] >= 0.5 else self.ceiling)


def repetition(similarities: Floats) -> Floats:
    """Return how much an intent repeats past ones that are so similar, each in [0, 1]."""
    return np.asarray(np.clip((similarities - NEW) / (SAME - NEW), 0, 1), dtype=np.float64)


def of_prior(level: float, slope: float) -> Calibrator:
    """Return the calibrator for no history."""
    return Calibrator(
        reach=1.0,
        level=level,
        slope=slope,
        repeat=0.0,
        ceiling=CEILING,
        repeat_ceiling=CEILING,
        alone_level=level,
        alone_slope=slope,
    )


def fit_calibrator(
    judged: Judged,
    *,
    reached: int,
    counted: int,
    prior: tuple[float, float],
    alone: tuple[float, float] = (0.0, 1.0),
) -> Calibrator:
    """Fit the map from held-out choices.

    Level and slope are those of first runs: what is new shall not seem sure because the same
    was asked for often. Repeats only show how much surer they are themselves.

    Args:
        judged: Choices by models that did not see the intent.
        reached: First runs whose set was among the candidates.
        counted: Past runs, at most a few of each intent (`past.COUNTED`).
        prior: Level and slope that hold in other catalogues with a history of this size.
        alone: Those that hold there without history.

    References:
        Platt, Probabilistic outputs for support vector machines (1999).
    """
    first = judged.repeats == 0
    intents = int(first.sum())
    reach = (reached + 2) / (intents + 3)
    level, slope = 0.0, 1.0
    if intents < TAUGHT_BY_OTHERS:
        level, slope = prior[0] / 2, (prior[1] + 1) / 2
    likely = judged.likely * reach
    level, slope = platt(likely[first], judged.right[first], level=level, slope=slope)
    odds = level + slope * logit(likely, least=LEAST)
    return Calibrator(
        reach=reach,
        level=level,
        slope=slope,
        repeat=0.0 if first.all() else _surer_of_repeats(judged, odds),
        ceiling=CEILING if intents < FEW else 1.0,
        repeat_ceiling=CEILING if counted < FEW else 1.0,
        alone_level=alone[0],
        alone_slope=alone[1],
    )


def _surer_of_repeats(judged: Judged, odds: Floats) -> float:
    """Return how much surer to be of repeats, given the log-odds of them as of anything else."""
    found = fit_logistic(
        repetition(judged.similarities)[:, None],
        judged.right,
        prior=np.zeros(1),
        l2=_PRECISION * REPEAT_WEIGHT,
        weights=np.maximum(judged.repeats, 1),
        offset=odds,
    )
    return max(0.0, float(found[0]))


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
    found = fit_logistic(rows, right, prior=prior, l2=_PRECISION * weight)
    return float(found[0]), float(found[1] / _SLOPE_SCALE)
