"""Betweenness and closeness centrality, exact or sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.matrix import Matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_array

EXACT_TOOLS: Final = 2_000
"""Number of tools up to which all are pivots."""
PIVOTS: Final = 256
"""Sampled pivots in larger graphs."""
MAX_BLOCK_CELLS: Final = 4_000_000
"""Pairs of pivot and tool per batch: some 70 MB."""

MatrixPositions = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Centrality:
    """How central each tool of a matrix is.

    Attributes:
        betweenness: float64 in [0, 1], shape (n,): the share of shortest paths between two
            other tools that pass through the tool, averaged over all pairs.
        closeness: float64 in [0, 1], shape (n,): the inverse of the average number of hops to
            the tool from those that reach it, times the share of tools that do.
        pivots: Number of tools that paths were searched from.
        is_exact: Whether all tools were pivots; otherwise the values are estimates.
    """

    betweenness: Values
    closeness: Values
    pivots: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _BfsLevel:
    """Tools at one distance from the pivots.

    Attributes:
        positions: Pivot number times n plus the row of the tool, ascending by pivot.
        paths: Number of shortest paths to each, divided by the scales of all levels so far.
        scale: Divisor of this level, which prevents overflow.
    """

    positions: MatrixPositions
    paths: Values
    scale: float


def measure_centrality(
    matrix: Matrix, *, exact_up_to: int = EXACT_TOOLS, pivots: int = PIVOTS, seed: int = 0
) -> Centrality:
    """Measure betweenness and closeness by hops, in one pass over the arcs from each pivot.

    O(pivots * arcs): exact with all tools as pivots; for more than `exact_up_to` tools an unbiased
    estimate from a sample, deterministic for a matrix and seed.

    Args:
        matrix: The arcs; weights are ignored.
        exact_up_to: Number of tools up to which it is exact.
        pivots: Size of the sample.
        seed: Seed of the sample.

    References:
        Brandes, A faster algorithm for betweenness centrality, J. Math. Sociol. 25 (2001);
        Brandes and Pich, Centrality estimation in large networks, Int. J. Bifurcation and Chaos
        17 (2007); Eppstein and Wang, Fast approximation of centrality, J. Graph Algorithms Appl. 8
        (2004); Wasserman and Faust, Social network analysis (1994), for disconnected graphs.
    """
    n = len(matrix.tools)
    is_exact = n <= max(exact_up_to, pivots)
    chosen = np.arange(n)
    if not is_exact:
        chosen = np.sort(np.random.default_rng(seed).choice(n, pivots, replace=False))
    passed, hops, reached = np.zeros(n), np.zeros(n), np.zeros(n)
    steps = _drop_weights(matrix)
    back = steps.T.tocsr()
    batch = max(1, MAX_BLOCK_CELLS // max(n, 1))
    for start in range(0, len(chosen), batch):
        levels = _search_levels(steps, chosen[start : start + batch])
        passed += _accumulate_dependencies(levels, back)
        for depth, level in enumerate(levels[1:], start=1):
            counts = np.bincount(level.positions % n, minlength=n)
            hops += depth * counts
            reached += counts
    others = len(chosen) - np.isin(np.arange(n), chosen)
    return Centrality(
        betweenness=_divide_or_zero(passed * n, len(chosen) * (n - 1) * (n - 2)),
        closeness=_divide_or_zero(reached * reached, hops * others),
        pivots=len(chosen),
        is_exact=is_exact,
    )


def _search_levels(steps: csr_array, pivots: NDArray[np.int64]) -> list[_BfsLevel]:
    n = steps.shape[0]
    positions = np.arange(len(pivots)) * n + pivots
    seen = np.zeros(len(pivots) * n, bool)
    levels = [_BfsLevel(positions, np.ones(len(pivots)), 1.0)]
    while len(positions):
        seen[positions] = True
        positions, paths = _propagate_values(positions, levels[-1].paths, steps, len(pivots))
        is_new = ~seen[positions]
        positions, paths = positions[is_new], paths[is_new]
        scale = float(paths.max(initial=1.0))
        levels.append(_BfsLevel(positions, paths / scale, scale))
    return levels[:-1]


def _accumulate_dependencies(levels: list[_BfsLevel], back: csr_array) -> Values:
    """Return for each tool the share of paths from the pivots to others that pass through it."""
    n = back.shape[0]
    pivots = len(levels[0].positions)
    passed, scratch = np.zeros(pivots * n), np.zeros(pivots * n)
    for level, before in zip(levels[:0:-1], levels[-2::-1], strict=True):
        due = (1.0 + passed[level.positions]) / (level.paths * level.scale)
        positions, values = _propagate_values(level.positions, due, back, pivots)
        scratch[positions] = values
        passed[before.positions] = before.paths * scratch[before.positions]
        scratch[positions] = 0.0
    passed[levels[0].positions] = 0.0
    total: Values = passed.reshape(pivots, n).sum(axis=0)
    return total


def _propagate_values(
    positions: MatrixPositions, values: Values, steps: csr_array, pivots: int
) -> tuple[MatrixPositions, Values]:
    """Propagate values along the arcs, summing at each target position."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - heavy

    n = steps.shape[0]
    rows, columns = np.divmod(positions, n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=pivots))])
    arrived = csr_array((values, columns, starts), shape=(pivots, n)) @ steps
    rows = np.repeat(np.arange(pivots), np.diff(arrived.indptr))
    return rows * n + arrived.indices, arrived.data


def _drop_weights(matrix: Matrix) -> csr_array:
    steps = matrix.weights.copy()
    steps.data = np.ones_like(steps.data)
    return steps


def _divide_or_zero(part: Values, whole: Values | float) -> Values:
    whole = np.broadcast_to(np.asarray(whole, float), part.shape)
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0.0)
