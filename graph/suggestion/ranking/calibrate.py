"""Calibrate the confidence in the best set: Platt scaling, near the identity with few runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from graph.suggestion.ranking.history_features import measure_repetition
from graph.suggestion.ranking.logistic import compute_logit, compute_sigmoid, fit_logistic
from graph.suggestion.ranking.set_history import Floats

if TYPE_CHECKING:
    from graph.suggestion.ranking.set_model import SetChoiceOutcomes

PRIOR_WEIGHT: Final = 100.0
"""Weight of the identity, in outcomes: 50 outcomes determine the level only to within seven
points, and a map fitted freely to them was off by more than the raw probability."""

REPEAT_WEIGHT: Final = 2.0
"""Weight, in outcomes, of the prior that a repeated intent deserves no extra confidence; with 2,
simulated teams of ten intents were underconfident by 14 points on repeats, with 10 by 22."""

_OUTCOME_PRECISION: Final = 0.25  # information of one outcome at even odds, on the level
_SLOPE_SCALE: Final = 2.0**0.5  # the prior on the slope is twice as strong as on the level

MIN_OWN_INTENTS: Final = 50
"""With fewer intents the prior is half way to the map of other catalogues: with 20 and 30 intents
of four public sets that reduced the mean overconfidence from 2 to 3 points to 1."""

FEW_RUNS: Final = 20
MAX_UNPROVEN_CONFIDENCE: Final = 0.69
"""Cap of the confidence with fewer runs, and for new intents with fewer past ones: just below the
threshold of a suggestion."""

SHIFT_PRECISION: Final = 0.3
"""Precision of `text_only_shift` around zero, as `benchmarks.fit_plan` takes it for data sets."""
MIN_SHIFTED_INTENTS: Final = 40
"""Past intents from which the confidence in what texts alone suggest may be above the cap: of such
suggestions on bfcl_live, 77 % were right with 20, said to be 89 %, and 82 % with 50, said to be
88 %."""
FLOOR_QUANTILE: Final = 0.2
"""Share of past intents below `text_only_floor`: easy work tells little about what is harder."""

STRANGER_WEIGHT: Final = 10.0
"""How much more it counts for the confidence that an intent may be of a new kind than for the
choice: with 1, of 125 wishes of another kind than those taught twice 17 were wrong at 0.70 and
more, and runnable, with 10 eight (`benchmarks.taught_wishes`)."""

NO_FLOOR_REACHED: Final = 99.0
"""Log-odds that nothing reaches."""

MIN_PROBABILITY: Final = 1e-4


@dataclass(frozen=True, kw_only=True)
class Calibrator:
    """confidence = sigmoid(level + slope · logit(reach · p) + repeat · repetition), capped.

    Attributes:
        reach: Share of past intents whose set was a candidate without their own evidence, in
            (0, 1].
        level: Shift of the log-odds; 0 is neutral.
        slope: Factor of the log-odds; 1 is neutral, less moves probabilities towards one half.
        repeat: Log-odds added for a set that ran for the same intent, >= 0.
        ceiling: Cap of the confidence for a new intent, in (0, 1].
        repeat_ceiling: Cap of the confidence in a set that ran for the same intent, in (0, 1].
        alone_level: Level without history, for intents that history does not cover.
        alone_slope: Slope without history.
        text_only_shift: Added to the log-odds of what texts alone suggest, ranked or planned: how
            much oftener than elsewhere that is what past runs did.
        text_only_floor: Log-odds by other catalogues below which that is capped, since past
            intents tell little about it.
        stranger: Level, slope and weight of the familiarity for an intent that may be of another
            kind than all past ones; None: as texts alone.
    """

    reach: float
    level: float
    slope: float
    repeat: float
    ceiling: float
    repeat_ceiling: float
    alone_level: float = 0.0
    alone_slope: float = 1.0
    text_only_shift: float = 0.0
    text_only_floor: float = NO_FLOOR_REACHED
    stranger: Sequence[float] | None = None

    def predict_confidence(
        self, probability: float, *, similarity: float = 0.0, familiarity: float = 1.0
    ) -> float:
        """Return the probability that the set is right, in [0, 1].

        Args:
            probability: Uncalibrated probability of the set.
            similarity: Similarity to the nearest past intent that ran the same set.
            familiarity: Weight of history in the choice, in [0, 1].
        """
        with_history = self._history_confidence(probability, similarity)
        odds = compute_logit(np.array([probability]), least=MIN_PROBABILITY)
        text_only = self.predict_text_only(self.alone_level + self.alone_slope * float(odds[0]))
        if self.stranger is None:
            return familiarity * with_history + (1 - familiarity) * text_only
        level, slope, weight = self.stranger
        logits = level + slope * odds + weight * familiarity
        as_stranger = min(text_only, float(compute_sigmoid(logits)[0]))
        repetition = float(measure_repetition(np.array([similarity]))[0])
        share = familiarity / (familiarity + STRANGER_WEIGHT * (1 - familiarity))
        share = repetition + (1 - repetition) * share
        return share * with_history + (1 - share) * as_stranger

    def predict_text_only(self, odds: float) -> float:
        """Return the probability that what texts alone suggest is right, in [0, 1].

        Args:
            odds: Its log-odds by other catalogues.
        """
        chance = float(compute_sigmoid(np.array([odds + self.text_only_shift]))[0])
        return chance if odds >= self.text_only_floor else min(chance, MAX_UNPROVEN_CONFIDENCE)

    def _history_confidence(self, probability: float, similarity: float) -> float:
        repetition = measure_repetition(np.array([similarity]))
        odds = compute_logit(np.array([probability * self.reach]), least=MIN_PROBABILITY)
        confidence = float(
            compute_sigmoid(self.level + self.slope * odds + self.repeat * repetition)[0]
        )
        return min(confidence, self.repeat_ceiling if repetition[0] >= 0.5 else self.ceiling)


def prior_calibrator(level: float, slope: float) -> Calibrator:
    """Return the calibrator without history."""
    return Calibrator(
        reach=1.0,
        level=level,
        slope=slope,
        repeat=0.0,
        ceiling=MAX_UNPROVEN_CONFIDENCE,
        repeat_ceiling=MAX_UNPROVEN_CONFIDENCE,
        alone_level=level,
        alone_slope=slope,
    )


UNFITTED_CALIBRATOR: Final = prior_calibrator(0.0, 1.0)


def fit_calibrator(
    outcomes: SetChoiceOutcomes,
    *,
    reached: int,
    counted: int,
    prior: tuple[float, float],
    alone: tuple[float, float] = (0.0, 1.0),
    text_only: tuple[float, float] = (0.0, NO_FLOOR_REACHED),
) -> Calibrator:
    """Fit the map from held-out choices.

    Level and slope are fitted to first runs only, so that frequent repeats do not raise the
    confidence in new intents. Repeats only determine their own extra log-odds.

    Args:
        outcomes: Choices by models that did not see the intent.
        reached: Number of first runs whose set was a candidate.
        counted: Number of past runs, capped per intent (`past_intents.MAX_COUNTED_RUNS`).
        prior: Level and slope from other catalogues with a history of this size.
        alone: Level and slope from other catalogues without history.
        text_only: Shift and floor, as `fit_text_only` returns them.

    References:
        Platt, Probabilistic outputs for support vector machines (1999).
    """
    first = outcomes.repeats == 0
    intents = int(first.sum())
    reach = (reached + 2) / (intents + 3)
    level, slope = 0.0, 1.0
    if intents < MIN_OWN_INTENTS:
        level, slope = prior[0] / 2, (prior[1] + 1) / 2
    probabilities = outcomes.probabilities * reach
    level, slope = fit_platt(
        probabilities[first], outcomes.was_right[first], level=level, slope=slope
    )
    odds = level + slope * compute_logit(probabilities, least=MIN_PROBABILITY)
    return Calibrator(
        reach=reach,
        level=level,
        slope=slope,
        repeat=0.0 if first.all() else _fit_repeat_weight(outcomes, odds),
        ceiling=MAX_UNPROVEN_CONFIDENCE if intents < FEW_RUNS else 1.0,
        repeat_ceiling=MAX_UNPROVEN_CONFIDENCE if counted < FEW_RUNS else 1.0,
        alone_level=alone[0],
        alone_slope=alone[1],
        text_only_shift=text_only[0],
        text_only_floor=text_only[1],
    )


def fit_text_only(
    probabilities: Floats, outcomes: Floats, alone: tuple[float, float]
) -> tuple[float, float]:
    """Fit how much oftener than elsewhere texts alone are right.

    Args:
        probabilities: Of the sets chosen without history for past intents, shape (N,).
        outcomes: 1 if the run called exactly that set, else 0, shape (N,).
        alone: Level and slope from other catalogues without history.

    Returns:
        `text_only_shift` and `text_only_floor`.
    """
    odds = alone[0] + alone[1] * compute_logit(probabilities, least=MIN_PROBABILITY)
    shift = fit_logistic(
        np.ones((len(odds), 1)), outcomes, prior=np.zeros(1), l2=SHIFT_PRECISION, offset=odds
    )
    is_proven = len(odds) >= MIN_SHIFTED_INTENTS
    floor = float(np.quantile(odds, FLOOR_QUANTILE)) if is_proven else NO_FLOOR_REACHED
    return float(shift[0]), floor


def fit_strangers(outcomes: Floats, alone: tuple[float, float]) -> Sequence[float] | None:
    """Fit how often suggestions for intents of another kind are right.

    Args:
        outcomes: From `strangers.judge_strangers`, shape (n, 3).
        alone: Level and slope from other catalogues without history.

    Returns:
        `Calibrator.stranger`.
    """
    if not len(outcomes):
        return None
    odds = compute_logit(outcomes[:, 0], least=MIN_PROBABILITY)
    rows = np.column_stack((np.ones(len(odds)), odds, outcomes[:, 1]))
    fitted = fit_logistic(rows, outcomes[:, 2], prior=np.array([*alone, 0.0]), l2=SHIFT_PRECISION)
    return tuple(fitted.tolist())


def _fit_repeat_weight(outcomes: SetChoiceOutcomes, odds: Floats) -> float:
    """Return the extra log-odds of repeats, on top of their log-odds as first runs."""
    weight = fit_logistic(
        measure_repetition(outcomes.similarities)[:, None],
        outcomes.was_right,
        prior=np.zeros(1),
        l2=_OUTCOME_PRECISION * REPEAT_WEIGHT,
        weights=np.maximum(outcomes.repeats, 1),
        offset=odds,
    )
    return max(0.0, float(weight[0]))


def fit_platt(
    probabilities: Floats,
    outcomes: Floats,
    *,
    level: float,
    slope: float,
    weight: float = PRIOR_WEIGHT,
) -> tuple[float, float]:
    """Fit level and slope of sigmoid(level + slope · logit p) towards prior values.

    Args:
        probabilities: Probabilities, shape (N,).
        outcomes: Outcomes, 0 or 1, shape (N,).
        level: Prior mean of the level.
        slope: Prior mean of the slope.
        weight: Weight of the prior, in outcomes.
    """
    odds = compute_logit(probabilities, least=MIN_PROBABILITY)
    rows = np.stack([np.ones_like(odds), odds / _SLOPE_SCALE], axis=1)
    prior = np.array([level, slope * _SLOPE_SCALE])
    coefficients = fit_logistic(rows, outcomes, prior=prior, l2=_OUTCOME_PRECISION * weight)
    return float(coefficients[0]), float(coefficients[1] / _SLOPE_SCALE)
