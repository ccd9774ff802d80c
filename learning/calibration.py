"""Calibration of confidences by live outcomes: how good it is, and a cautious correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

BINS: Final = 10
MIN_SAMPLES: Final = 50
"""Outcomes below which nothing is corrected."""
FOLDS: Final = 5
INTERCEPT_DEVIATION: Final = 0.5
SLOPE_DEVIATION: Final = 0.25
"""Standard deviations of the prior around the identity, in logits: odds are rarely wrong by more
than a factor of e. On simulated outcomes (tests) this keeps 50 samples from moving much."""
MIN_SLOPE: Final = 0.1
"""Least slope, so that the order of confidences stays."""
MIN_GAIN_ERRORS: Final = 1.0
"""Standard errors by which the correction must beat the identity on outcomes not fitted to."""
CLAMP: Final = 0.001
"""Confidences are kept this far from 0 and 1, whose logits are infinite."""


class JudgedConfidence(NamedTuple):
    """A confidence whose prediction was resolved.

    Attributes:
        confidence: As stated, in [0, 1].
        weight: How sure that is, in (0, 1].
    """

    confidence: float
    is_right: bool
    weight: float = 1.0


class ReliabilityBin(NamedTuple):
    """Predictions of similar confidence.

    Attributes:
        confidence: Mean confidence, in [0, 1].
        share_right: Share that was right, in [0, 1].
    """

    samples: int
    weight: float
    confidence: float
    share_right: float


@dataclass(frozen=True, slots=True)
class CalibrationMap:
    """A correction of confidences: a straight line through their logits.

    Attributes:
        intercept: Added to the logit.
        slope: Factor of the logit; positive, so that the order of confidences stays.

    References:
        Platt, Probabilistic outputs for support vector machines (1999).
    """

    intercept: float = 0.0
    slope: float = 1.0

    def apply(self, confidence: float) -> float:
        """Return the corrected confidence, in [0, 1].

        Example:
            >>> CalibrationMap().apply(0.3), round(CalibrationMap(intercept=-1.0).apply(0.9), 2)
            (0.3, 0.77)
        """
        if self == IDENTITY:
            return confidence
        return _sigmoid(self.intercept + self.slope * _logit(confidence))


IDENTITY: Final = CalibrationMap()


def build_reliability(
    samples: Sequence[JudgedConfidence], *, bins: int = BINS
) -> list[ReliabilityBin]:
    """Return bins of equal numbers of predictions, by ascending confidence.

    Equal confidences share a bin, so that a constant forecast is judged as one.

    References:
        Nguyen & O'Connor, Posterior calibration and exploratory analysis for NLP models (2015),
        for bins of equal mass.
    """
    ordered = sorted(samples, key=lambda one: one.confidence)
    grouped: dict[int, list[JudgedConfidence]] = {}
    first = 0
    for place, one in enumerate(ordered):
        if one.confidence != ordered[first].confidence:
            first = place
        grouped.setdefault(first * bins // len(ordered), []).append(one)
    return [_build_bin(group) for _, group in sorted(grouped.items())]


def calibration_error(reliability: Sequence[ReliabilityBin]) -> float | None:
    """Return the expected calibration error: the mean distance of confidence from outcome.

    Example:
        >>> calibration_error([ReliabilityBin(4, 4.0, 0.75, 0.5), ReliabilityBin(4, 4.0, 1, 1)])
        0.125
    """
    total = sum(one.weight for one in reliability)
    if not total:
        return None
    return sum(one.weight * abs(one.confidence - one.share_right) for one in reliability) / total


def brier_score(samples: Sequence[JudgedConfidence]) -> float | None:
    """Return the mean squared distance of confidence from outcome; None without samples.

    Example:
        >>> brier_score([JudgedConfidence(0.5, True), JudgedConfidence(0.5, False)])
        0.25

    References:
        Brier, Verification of forecasts expressed in terms of probability (1950).
    """
    total = sum(one.weight for one in samples)
    if not total:
        return None
    return sum(one.weight * (one.confidence - one.is_right) ** 2 for one in samples) / total


def choose_correction(samples: Sequence[JudgedConfidence]) -> CalibrationMap:
    """Return the fitted correction if it is better on outcomes it was not fitted to.

    Otherwise, and with fewer than `MIN_SAMPLES`, it is the identity. Better means: a lower
    logarithmic loss in cross-validation, by `MIN_GAIN_ERRORS` standard errors.

    Args:
        samples: In any order; the folds are every fifth of them.
    """
    if len(samples) < MIN_SAMPLES:
        return IDENTITY
    gains = []
    for fold in range(FOLDS):
        kept = [one for place, one in enumerate(samples) if place % FOLDS != fold]
        fitted = fit_correction(kept)
        gains += [
            one.weight * (_log_loss(one, IDENTITY) - _log_loss(one, fitted))
            for one in samples[fold::FOLDS]
        ]
    mean = sum(gains) / len(gains)
    deviation = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1))
    if mean <= MIN_GAIN_ERRORS * deviation / math.sqrt(len(gains)):
        return IDENTITY
    return fit_correction(samples)


def fit_correction(samples: Sequence[JudgedConfidence]) -> CalibrationMap:
    """Return the most probable correction, with a prior around the identity.

    Where outcomes run against confidence, the slope stays at `MIN_SLOPE`.

    Args:
        samples: May be empty: then it is the identity.

    Complexity:
        O(samples) for each of at most `logistic.MAX_STEPS` steps.
    """
    import numpy as np

    from graph.suggestion.ranking.logistic import fit_logistic

    logits = np.array([_logit(one.confidence) for one in samples])
    rows = np.column_stack([SLOPE_DEVIATION * logits, np.full(len(samples), INTERCEPT_DEVIATION)])
    fit = partial(
        fit_logistic,
        targets=np.array([float(one.is_right) for one in samples]),
        l2=1.0,
        weights=np.array([one.weight for one in samples]),
    )
    slope, intercept = fit(rows, prior=np.array([1.0 / SLOPE_DEVIATION, 0.0]))
    if SLOPE_DEVIATION * slope >= MIN_SLOPE:
        return CalibrationMap(
            float(INTERCEPT_DEVIATION * intercept), float(SLOPE_DEVIATION * slope)
        )
    (intercept,) = fit(rows[:, 1:], prior=np.zeros(1), offset=MIN_SLOPE * logits)
    return CalibrationMap(float(INTERCEPT_DEVIATION * intercept), MIN_SLOPE)


def _build_bin(group: Sequence[JudgedConfidence]) -> ReliabilityBin:
    weight = sum(one.weight for one in group)
    return ReliabilityBin(
        samples=len(group),
        weight=weight,
        confidence=sum(one.weight * one.confidence for one in group) / weight,
        share_right=sum(one.weight * one.is_right for one in group) / weight,
    )


def _log_loss(one: JudgedConfidence, correction: CalibrationMap) -> float:
    chance = min(max(correction.apply(one.confidence), CLAMP), 1.0 - CLAMP)
    return -math.log(chance if one.is_right else 1.0 - chance)


def _logit(chance: float) -> float:
    clamped = min(max(chance, CLAMP), 1.0 - CLAMP)
    return math.log(clamped / (1.0 - clamped))


def _sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))
