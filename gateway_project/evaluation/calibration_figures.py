"""How far a confidence can be believed, and how well it tells right from wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BINS = 10
PRECISION = 0.95
"""The share of right answers that coverage asks for."""
FIGURES = ("ece", "brier", "auroc", "coverage_at_95")

Floats = NDArray[np.float64]


def calibration_figures(
    confidences: Sequence[float], outcomes: Sequence[bool]
) -> dict[str, float | None]:
    """Return all figures; None for what cannot be told, as without any query.

    Args:
        confidences: In [0, 1].
        outcomes: Whether what was suggested with each was right.
    """
    said = np.asarray(confidences, dtype=np.float64)
    right = np.asarray(outcomes, dtype=np.float64)
    if said.size == 0:
        return dict.fromkeys(FIGURES)
    return {
        "ece": ece(said, right),
        "brier": float(np.mean((said - right) ** 2)),
        "auroc": auroc(said, right),
        "coverage_at_95": coverage(said, right),
    }


def ece(said: Floats, right: Floats, *, bins: int = BINS) -> float:
    """Expected calibration error over bins of equal mass.

    Equal confidences share a bin, so that a constant forecast is judged as one.

    Args:
        said: Confidences; not empty.
        right: 1 where the answer was right, else 0.
        bins: How many, at most.

    Returns:
        Mean distance, over the answers, of their bin's mean confidence from its share right.

    Example:
        >>> ece(np.array([0.5, 0.5, 0.5, 0.5]), np.array([1.0, 0.0, 1.0, 0.0]))
        0.0

    References:
        Nguyen & O'Connor, Posterior calibration and exploratory analysis for NLP models (2015),
        for bins of equal mass.
    """
    first = np.searchsorted(np.sort(said), said, side="left")
    places = first * bins // said.size
    sizes = np.bincount(places, minlength=bins)
    away = np.bincount(places, weights=said - right, minlength=bins)
    return float(np.abs(away).sum() / sizes.sum())


def auroc(said: Floats, right: Floats) -> float | None:
    """Chance that a right answer is given with more confidence than a wrong one; ties half.

    Returns:
        None where all are right, or all wrong.

    Example:
        >>> auroc(np.array([0.1, 0.4, 0.8]), np.array([0.0, 1.0, 1.0]))
        1.0
    """
    positive, negative = said[right == 1], np.sort(said[right == 0])
    if not positive.size or not negative.size:
        return None
    below = np.searchsorted(negative, positive, side="left")
    not_above = np.searchsorted(negative, positive, side="right")
    return float((below + not_above).sum() / 2 / positive.size / negative.size)


def coverage(said: Floats, right: Floats, *, precision: float = PRECISION) -> float:
    """Share of the queries that can be answered so that enough of the answers are right.

    The answers taken are those at or above some confidence, chosen with the outcomes known: it
    says how much there is to win, not what a threshold picked beforehand would.

    Example:
        >>> coverage(np.array([0.9, 0.8, 0.3, 0.3]), np.array([1.0, 1.0, 1.0, 0.0]))
        0.5
    """
    order = np.argsort(-said, kind="stable")
    sorted_said = said[order]
    taken = np.arange(1, said.size + 1)
    good = np.cumsum(right[order]) / taken >= precision
    is_last = np.append(sorted_said[1:] != sorted_said[:-1], True)
    reached = taken[good & is_last]
    return float(reached.max() / said.size) if reached.size else 0.0
