"""Latency histograms with fixed bounds, so that counts of any origin can be added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

BOUNDS_MS: Final = (
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0,
    1_000.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0, 60_000.0, 300_000.0,
)  # fmt: skip
"""A call is counted in the bucket of the first bound longer than its duration."""
BUCKETS: Final = len(BOUNDS_MS) + 1


def estimate_quantile_ms(counts: Sequence[int], share: float) -> float | None:
    """Return the duration that a share of calls did not exceed, in milliseconds.

    This is the upper bound of their bucket, or the lower bound of the last one.

    Args:
        counts: Calls in each of the `BUCKETS` buckets.
        share: In (0, 1].

    Returns:
        None if nothing was counted.

    Example:
        >>> (estimate_quantile_ms([0, 0, 0, 8, 2], 0.5),
        ...  estimate_quantile_ms([0, 0, 0, 8, 2], 0.95), estimate_quantile_ms([], 0.5))
        (10.0, 20.0, None)
    """
    wanted = share * sum(counts)
    seen = 0
    for bucket, count in enumerate(counts):
        seen += count
        if count and seen >= wanted:
            return BOUNDS_MS[min(bucket, len(BOUNDS_MS) - 1)]
    return None
