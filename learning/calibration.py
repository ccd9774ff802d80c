"""Calibration of confidences by live outcomes: how good it is, and a cautious correction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
MAX_STEPS: Final = 50
MAX_STEP: Final = 1.0
"""Longest step of either variable, in logits."""
TOLERANCE: Final = 1e-9


class JudgedConfidence(NamedTuple):
    """A confidence whose prediction was resolved.

    Attributes:
        confidence: As stated, in [0, 1].
        is_right: Whether the prediction was right.
        weight: How sure that is, in (0, 1].
    """

    confidence: float
    is_right: bool
    weight: float = 1.0


class ReliabilityBin(NamedTuple):
    """Predictions of similar confidence.

    Attributes:
        samples: Number of them.
        weight: Sum of their weights.
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

    Newton's method on a strictly concave function of two variables; O(samples) for each step.
    Where outcomes run against confidence, the slope stays at `MIN_SLOPE`.

    Args:
        samples: May be empty: then it is the identity.
    """
    points = [(_logit(one.confidence), float(one.is_right), one.weight) for one in samples]
    fitted = _climb(points, CalibrationMap(), is_slope_free=True)
    if fitted.slope >= MIN_SLOPE:
        return fitted
    return _climb(points, CalibrationMap(slope=MIN_SLOPE), is_slope_free=False)


def _climb(
    points: Sequence[tuple[float, float, float]], start: CalibrationMap, *, is_slope_free: bool
) -> CalibrationMap:
    intercept, slope = start.intercept, start.slope
    for _ in range(MAX_STEPS):
        step_a, step_b = _newton_step(points, intercept, slope, is_slope_free=is_slope_free)
        longest = max(abs(step_a), abs(step_b))
        if longest < TOLERANCE:
            break
        # A full step may overshoot far from the optimum.
        share = min(1.0, MAX_STEP / longest)
        intercept, slope = intercept + share * step_a, slope + share * step_b
    return CalibrationMap(intercept, slope)


def _newton_step(
    points: Sequence[tuple[float, float, float]],
    intercept: float,
    slope: float,
    *,
    is_slope_free: bool,
) -> tuple[float, float]:
    gradient_a = -intercept / INTERCEPT_DEVIATION**2
    gradient_b = (1.0 - slope) / SLOPE_DEVIATION**2
    curve_aa, curve_ab, curve_bb = 1 / INTERCEPT_DEVIATION**2, 0.0, 1 / SLOPE_DEVIATION**2
    for logit, outcome, weight in points:
        chance = _sigmoid(intercept + slope * logit)
        error, spread = weight * (outcome - chance), weight * chance * (1.0 - chance)
        gradient_a += error
        gradient_b += error * logit
        curve_aa += spread
        curve_ab += spread * logit
        curve_bb += spread * logit * logit
    if not is_slope_free:
        return gradient_a / curve_aa, 0.0
    determinant = curve_aa * curve_bb - curve_ab * curve_ab
    return (
        (curve_bb * gradient_a - curve_ab * gradient_b) / determinant,
        (curve_aa * gradient_b - curve_ab * gradient_a) / determinant,
    )


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
