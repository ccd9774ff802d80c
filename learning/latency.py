"""How long calls take: counted between fixed bounds, so that counts of any origin add up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

BOUNDS_MS: Final = (
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0,
    1_000.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0, 60_000.0, 300_000.0,
)  # fmt: skip
"""A call is counted at the place of the first bound that is longer than it took."""
BUCKETS: Final = len(BOUNDS_MS) + 1


def quantile(counts: Sequence[int], share: float) -> float | None:
    """Return a duration that a share of calls did not exceed, in milliseconds.

    It is the upper bound of the place where they are counted; of the last place its lower bound.

    Args:
        counts: Calls at each of the `BUCKETS` places.
        share: In (0, 1].

    Returns:
        None if nothing was counted.

    Example:
        >>> quantile([0, 0, 0, 8, 2], 0.5), quantile([0, 0, 0, 8, 2], 0.95), quantile([], 0.5)
        (10.0, 20.0, None)
    """
    wanted = share * sum(counts)
    seen = 0
    for place, count in enumerate(counts):
        seen += count
        if count and seen >= wanted:
            return BOUNDS_MS[min(place, len(BOUNDS_MS) - 1)]
    return None
