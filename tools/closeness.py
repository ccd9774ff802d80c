"""Estimate whether any tool fits a query, by the evidence for the best match.

The score of a match says which tool is likeliest *if* one fits; it depends on how far the best one
is ahead. Whether any fits depends on how close the best one is, alone.
"""

from __future__ import annotations

from typing import Final

from tools.fusion import logistic_score

# Printed by `python -m benchmarks.fit_closeness`; docs/search.md has the held-out figures.
COSINE_WEIGHT: Final = 11.6
BM25_WEIGHT: Final = 0.04
BIAS: Final = -5.62
MIN_CLOSENESS: Final = 0.16
"""Closeness below which nothing is close: 5 % of the queries that a tool fits are below it."""
NOTHING_CLOSE_WARNING: Final = (
    "nothing close was found: probably no tool here does this, whatever the best match is"
)


def estimate_closeness(similarity: float, bm25: float) -> float:
    """Return the probability, in [0, 1], that a tool fits, given half of all queries have one.

    Args:
        similarity: Cosine of the query and its best match, in [-1, 1].
        bm25: BM25 of the best match, not negative.

    Example:
        >>> estimate_closeness(0.6, 12.0) > 0.8, estimate_closeness(0.2, 3.0) < MIN_CLOSENESS
        (True, True)
    """
    return logistic_score(COSINE_WEIGHT * similarity + BM25_WEIGHT * bm25 + BIAS)
