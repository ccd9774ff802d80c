"""Ranking metrics against a gold, in [0, 1], with binary relevance.

The gold is a list of slots: each is a need, with every tool that fulfils it. The first ranked tool
that fills a slot gains it; others that could fill the same slot gain nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Id = TypeVar("Id", bound=Hashable)

RESAMPLES = 10_000
CONFIDENCE_LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class BootstrapInterval:
    """A mean difference with its bootstrap interval."""

    mean: float
    low: float
    high: float


def compute_gains(ranked: Sequence[Id], slots: Sequence[AbstractSet[Id]]) -> list[bool]:
    """Return for each rank whether it fills a slot that no earlier rank filled.

    A tool that fits several open slots takes the first of them.

    Example:
        >>> compute_gains(["b", "a", "c"], [{"a", "b"}, {"c"}])
        [True, False, True]
    """
    open_slots = list(slots)
    filled = []
    for item in ranked:
        slot = next((index for index, options in enumerate(open_slots) if item in options), None)
        filled.append(slot is not None)
        if slot is not None:
            del open_slots[slot]
    return filled


def recall_at(gains: Sequence[bool], *, needed: int, k: int) -> float:
    """Share of the slots that the first k ranks fill.

    Example:
        >>> recall_at([True, False, True], needed=4, k=2)
        0.25
    """
    return sum(gains[:k]) / needed


def completeness_at(gains: Sequence[bool], *, needed: int, k: int) -> float:
    """1 if the first k ranks fill every slot, else 0."""
    return float(sum(gains[:k]) == needed)


def ndcg_at(gains: Sequence[bool], *, needed: int, k: int) -> float:
    """Normalised discounted cumulative gain of the first k ranks.

    Example:
        >>> round(ndcg_at([False, True], needed=1, k=10), 4)
        0.6309

    References:
        Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20 (2002).
    """
    discounts = [1 / math.log2(rank + 2) for rank in range(k)]
    earned = sum(d for d, gain in zip(discounts, gains, strict=False) if gain)
    return earned / sum(discounts[: min(needed, k)])


def average_precision_at(gains: Sequence[bool], *, needed: int, k: int) -> float:
    """Sum of the precision at each filled slot among the first k, divided by min(needed, k).

    Example:
        >>> average_precision_at([True, False, True], needed=2, k=10)
        0.8333333333333333
    """
    found = 0
    total = 0.0
    for rank, gain in enumerate(gains[:k], start=1):
        if gain:
            found += 1
            total += found / rank
    return total / min(needed, k)


def compute_percentiles(durations: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of durations, in their unit; not empty.

    Example:
        >>> compute_percentiles([1.0, 2.0, 3.0])
        {'p50': 2.0, 'p95': 2.9}
    """
    p50, p95 = np.percentile(durations, [50, 95])
    return {"p50": float(p50), "p95": float(p95)}


def bootstrap_difference(differences: Sequence[float], *, seed: int = 0) -> BootstrapInterval:
    """Mean of paired differences with a percentile bootstrap interval of 95 %.

    Args:
        differences: One per query; not empty.
        seed: Seed of the resampling, so that a report is reproducible.

    References:
        Efron & Tibshirani, An Introduction to the Bootstrap (1993), chapter 13.
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.size == 0:
        raise ValueError("no differences to resample")
    random = np.random.default_rng(seed)
    means = np.array(
        [values[random.integers(0, values.size, values.size)].mean() for _ in range(RESAMPLES)]
    )
    tail = (1 - CONFIDENCE_LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return BootstrapInterval(mean=float(values.mean()), low=float(low), high=float(high))
