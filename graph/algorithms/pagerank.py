"""PageRank: how much of all attention a tool gets if it is passed on along relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.matrix import Matrix

DAMPING: Final = 0.85
TOLERANCE: Final = 1e-6
FINEST: Final = 1e-12
"""Smallest tolerance that double precision reaches."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Ranks:
    """The rank of each tool of a matrix.

    Attributes:
        values: float64, shape (n,), in the order of the matrix's tools; they sum to 1.
        iterations: How many it took.
        error: Bound of the distance to the true ranks, as the sum of absolute differences.
    """

    values: NDArray[np.float64]
    iterations: int
    error: float


def pagerank(
    matrix: Matrix,
    *,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    warm: Mapping[int, float] | None = None,
) -> Ranks:
    """Rank tools by where a walk along the arcs is found, weighted by confidence.

    Tools that lead nowhere pass their rank on to all. Each iteration brings the ranks nearer to
    the true ones by the factor `damping`, so what is still missing is at most the last step times
    damping / (1 - damping): it stops when that is within the tolerance, whatever the size. (A
    step as small as the tolerance says little by itself: it bounds neither the distance of all
    ranks nor, divided by the number of tools, that of any.) O(arcs) an iteration.

    Args:
        matrix: The arcs.
        damping: Share of rank that is passed on, in [0, 1).
        tolerance: Largest absolute L1 distance to the true ranks.
        warm: Earlier ranks by tool to begin with; tools it does not know begin as average ones.

    Raises:
        ValueError: If damping or tolerance is out of range.

    References:
        Page, Brin, Motwani and Winograd, The PageRank citation ranking, Stanford (1999);
        Langville and Meyer, Deeper inside PageRank, Internet Mathematics 1 (2004).
    """
    if not 0.0 <= damping < 1.0 or tolerance < FINEST:
        raise ValueError(f"damping must be in [0, 1) and tolerance at least {FINEST}")
    n = len(matrix.tools)
    if n == 0:
        return Ranks(values=np.empty(0), iterations=0, error=0.0)
    total = matrix.weights @ np.ones(n)
    is_end = total == 0.0
    share = np.divide(damping, total, out=np.zeros(n), where=~is_end)
    inward = matrix.weights.T
    ranks, iterations, error = _beginning(matrix, warm), 0, np.inf
    while error > tolerance:
        spread = (1.0 - damping + damping * ranks[is_end].sum()) / n
        moved = inward @ (ranks * share) + spread
        error = float(np.abs(moved - ranks).sum()) * damping / (1.0 - damping)
        ranks = moved
        iterations += 1
    return Ranks(values=ranks / ranks.sum(), iterations=iterations, error=error)


def _beginning(matrix: Matrix, warm: Mapping[int, float] | None) -> NDArray[np.float64]:
    """Return ranks that sum to 1."""
    n = len(matrix.tools)
    if not warm:
        return np.full(n, 1.0 / n)
    ranks = np.array([warm.get(tool, 1.0 / n) for tool in matrix.tools.tolist()])
    ranks = np.where(np.isfinite(ranks) & (ranks >= 0.0), ranks, 1.0 / n)
    total = ranks.sum()
    return ranks / total if total > 0.0 else np.full(n, 1.0 / n)
