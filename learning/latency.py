"""Latency histograms with fixed bounds, so that counts of any origin can be added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Final, NamedTuple

BOUNDS_MS: Final = (
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0,
    1_000.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0, 60_000.0, 300_000.0,
)  # fmt: skip
"""A call is counted in the bucket of the first bound longer than its duration."""
BUCKETS: Final = len(BOUNDS_MS) + 1
MEDIAN: Final = 0.5
P95: Final = 0.95
NOTHING: Final[Mapping[tuple[int, int | None], Sequence[int]]] = MappingProxyType({})


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


class LatencyEstimate(NamedTuple):
    """How long the calls of a tool take.

    Attributes:
        p50_ms: Half of the calls took at most this long.
        p95_ms: Nearly all did.
        calls: Number of calls that this is known from.
    """

    p50_ms: float
    p95_ms: float
    calls: int


class LatencyTable:
    """The latencies of all tools as each team has seen them; immutable.

    A team sees its own calls and those of callers without a team.

    Args:
        histograms: Calls in each bucket, by primary keys of the tool and the team.
    """

    def __init__(
        self, histograms: Mapping[tuple[int, int | None], Sequence[int]] = NOTHING
    ) -> None:
        self._estimates: dict[tuple[int, int | None], LatencyEstimate] = {}
        for (tool, team), counts in histograms.items():
            shared = () if team is None else histograms.get((tool, None), ())
            estimate = _estimate_latency(add_counts(counts, shared))
            if estimate is not None:
                self._estimates[tool, team] = estimate

    def estimate(self, team: int | None, tool: int) -> LatencyEstimate | None:
        """Return how long calls of a tool take; None: none was seen.

        Args:
            team: Primary key of the caller's team; None: a caller without one.
            tool: Primary key.

        Example:
            >>> table = LatencyTable({(7, None): [0, 0, 0, 8, 2]})
            >>> table.estimate(1, 7), table.estimate(1, 8)
            (LatencyEstimate(p50_ms=10.0, p95_ms=20.0, calls=10), None)
        """
        return self._estimates.get((tool, team)) or self._estimates.get((tool, None))


def add_counts(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return the sum of two histograms, of which either may be shorter.

    Example:
        >>> add_counts([1, 2], [1])
        [2, 2]
    """
    return [one + other for one, other in zip_longest(first, second, fillvalue=0)]


def _estimate_latency(counts: Sequence[int]) -> LatencyEstimate | None:
    median = estimate_quantile_ms(counts, MEDIAN)
    p95 = estimate_quantile_ms(counts, P95)
    if median is None or p95 is None:
        return None
    return LatencyEstimate(median, p95, sum(counts))
