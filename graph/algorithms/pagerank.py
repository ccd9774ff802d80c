"""PageRank of tools over relations weighted by confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.matrix import Matrix

DAMPING: Final = 0.85
TOLERANCE: Final = 1e-6
MIN_TOLERANCE: Final = 1e-12
"""Smallest tolerance that double precision reaches."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PageRanks:
    """The rank of each tool of a matrix.

    Attributes:
        values: float64, shape (n,), in the order of the matrix's tools; they sum to 1.
        iterations: Number of iterations.
        error: Upper bound of the L1 distance to the true ranks.
    """

    values: NDArray[np.float64]
    iterations: int
    error: float


def compute_pagerank(
    matrix: Matrix,
    *,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    warm: Mapping[int, float] | None = None,
) -> PageRanks:
    """Rank tools by the stationary distribution of a random walk weighted by confidence.

    Dangling tools pass their rank on to all. Each iteration reduces the error by the factor
    `damping`, so it is at most the last step times damping / (1 - damping); iteration stops once
    that is within the tolerance, for any size. (The size of the step alone bounds neither the
    total error nor, divided by the number of tools, that of any rank.) O(arcs) per iteration.

    Args:
        matrix: The arcs.
        damping: Share of rank that is passed on, in [0, 1).
        tolerance: Maximum L1 distance to the true ranks.
        warm: Earlier ranks by tool to start from; missing tools start with the average.

    Raises:
        ValueError: If damping or tolerance is out of range.

    References:
        Page, Brin, Motwani and Winograd, The PageRank citation ranking, Stanford (1999);
        Langville and Meyer, Deeper inside PageRank, Internet Mathematics 1 (2004).
    """
    if not 0.0 <= damping < 1.0 or tolerance < MIN_TOLERANCE:
        raise ValueError(f"damping must be in [0, 1) and tolerance at least {MIN_TOLERANCE}")
    n = len(matrix.tools)
    if n == 0:
        return PageRanks(values=np.empty(0), iterations=0, error=0.0)
    total = matrix.weights @ np.ones(n)
    is_dangling = total == 0.0
    share = np.divide(damping, total, out=np.zeros(n), where=~is_dangling)
    inward = matrix.weights.T
    ranks, iterations, error = _initial_ranks(matrix, warm), 0, np.inf
    while error > tolerance:
        spread = (1.0 - damping + damping * ranks[is_dangling].sum()) / n
        moved = inward @ (ranks * share) + spread
        error = float(np.abs(moved - ranks).sum()) * damping / (1.0 - damping)
        ranks = moved
        iterations += 1
    return PageRanks(values=ranks / ranks.sum(), iterations=iterations, error=error)


def _initial_ranks(matrix: Matrix, warm: Mapping[int, float] | None) -> NDArray[np.float64]:
    n = len(matrix.tools)
    if not warm:
        return np.full(n, 1.0 / n)
    ranks = np.array([warm.get(tool, 1.0 / n) for tool in matrix.tools.tolist()])
    ranks = np.where(np.isfinite(ranks) & (ranks >= 0.0), ranks, 1.0 / n)
    total = ranks.sum()
    return ranks / total if total > 0.0 else np.full(n, 1.0 / n)
