"""Means and shares with bootstrap intervals of 95 %, resampled by query with a fixed seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluation.metrics import CONFIDENCE_LEVEL, RESAMPLES, BootstrapInterval

SEED = 0
CHUNK = 500
"""Resamples computed at once: bounds the memory."""

Floats = NDArray[np.float64]


def compute_mean_intervals(rows: Floats) -> list[BootstrapInterval]:
    """Return the mean of each column with its interval, all from the same resamples.

    Args:
        rows: One for each query, shape (n, k); not empty.

    References:
        Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
    """
    means = np.concatenate([rows[at].mean(axis=1) for at in _resamples(len(rows))])
    return _intervals(rows.mean(axis=0), means)


def compute_share_intervals(parts: Floats, wholes: Floats) -> list[BootstrapInterval]:
    """Return the pooled shares of several columns with their intervals.

    Args:
        parts: Numerators, one row for each query, shape (n, k).
        wholes: Denominators, shape (n, k).
    """
    drawn = [
        parts[at].sum(axis=1) / np.maximum(wholes[at].sum(axis=1), 1)
        for at in _resamples(len(parts))
    ]
    shares = parts.sum(axis=0) / np.maximum(wholes.sum(axis=0), 1)
    return _intervals(shares, np.concatenate(drawn))


def _resamples(size: int) -> Iterator[NDArray[np.int64]]:
    random = np.random.default_rng(SEED)
    for _ in range(RESAMPLES // CHUNK):
        yield random.integers(0, size, (CHUNK, size))


def _intervals(means: Floats, drawn: Floats) -> list[BootstrapInterval]:
    tail = (1 - CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return [
        BootstrapInterval(mean=float(mean), low=float(least), high=float(most))
        for mean, least, most in zip(means, low, high, strict=True)
    ]
