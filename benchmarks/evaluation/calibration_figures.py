"""Calibration of confidences, and how well they separate right from wrong answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BIN_COUNT = 10
TARGET_PRECISION = 0.95
"""Share of right answers that coverage requires."""
CALIBRATION_FIGURES = ("ece", "brier", "auroc", "coverage_at_95")

FloatArray = NDArray[np.float64]


def measure_calibration(
    stated: Sequence[float], observed: Sequence[bool]
) -> dict[str, float | None]:
    """Return all figures; None for those undefined for the input, as without any query.

    Args:
        stated: Confidences in [0, 1].
        observed: Whether the suggestion of each confidence was right.
    """
    confidences = np.asarray(stated, dtype=np.float64)
    outcomes = np.asarray(observed, dtype=np.float64)
    if confidences.size == 0:
        return dict.fromkeys(CALIBRATION_FIGURES)
    return {
        "ece": calibration_error(confidences, outcomes),
        "brier": float(np.mean((confidences - outcomes) ** 2)),
        "auroc": area_under_roc(confidences, outcomes),
        "coverage_at_95": coverage_at_precision(confidences, outcomes),
    }


def calibration_error(
    confidences: FloatArray, outcomes: FloatArray, *, bins: int = BIN_COUNT
) -> float:
    """Expected calibration error over bins of equal mass.

    Equal confidences share a bin, so that a constant forecast is judged as one.

    Args:
        confidences: In [0, 1]; not empty.
        outcomes: 1 where the answer was right, else 0.
        bins: Maximum number of bins.

    Returns:
        Mean distance, over the answers, of their bin's mean confidence from its share right.

    Example:
        >>> calibration_error(np.array([0.5, 0.5, 0.5, 0.5]), np.array([1.0, 0.0, 1.0, 0.0]))
        0.0

    References:
        Nguyen & O'Connor, Posterior calibration and exploratory analysis for NLP models (2015),
        for bins of equal mass.
    """
    first = np.searchsorted(np.sort(confidences), confidences, side="left")
    bin_of_answer = first * bins // confidences.size
    sizes = np.bincount(bin_of_answer, minlength=bins)
    deviations = np.bincount(bin_of_answer, weights=confidences - outcomes, minlength=bins)
    return float(np.abs(deviations).sum() / sizes.sum())


def area_under_roc(confidences: FloatArray, outcomes: FloatArray) -> float | None:
    """Probability that a right answer has more confidence than a wrong one; ties count half.

    Returns:
        None if all are right, or all wrong.

    Example:
        >>> area_under_roc(np.array([0.1, 0.4, 0.8]), np.array([0.0, 1.0, 1.0]))
        1.0
    """
    positive, negative = confidences[outcomes == 1], np.sort(confidences[outcomes == 0])
    if not positive.size or not negative.size:
        return None
    below = np.searchsorted(negative, positive, side="left")
    not_above = np.searchsorted(negative, positive, side="right")
    return float((below + not_above).sum() / 2 / positive.size / negative.size)


def coverage_at_precision(
    confidences: FloatArray, outcomes: FloatArray, *, precision: float = TARGET_PRECISION
) -> float:
    """Share of the queries that can be answered at the required share of right answers.

    Answers are accepted above a confidence threshold chosen with the outcomes known: an upper
    bound, not what a threshold chosen beforehand would achieve.

    Example:
        >>> coverage_at_precision(np.array([0.9, 0.8, 0.3, 0.3]), np.array([1.0, 1.0, 1.0, 0.0]))
        0.5
    """
    order = np.argsort(-confidences, kind="stable")
    sorted_confidences = confidences[order]
    counts = np.arange(1, confidences.size + 1)
    is_precise = np.cumsum(outcomes[order]) / counts >= precision
    is_last = np.append(sorted_confidences[1:] != sorted_confidences[:-1], True)
    precise_counts = counts[is_precise & is_last]
    return float(precise_counts.max() / confidences.size) if precise_counts.size else 0.0
