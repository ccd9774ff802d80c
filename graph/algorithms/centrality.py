"""Betweenness and closeness: which tools lie on the way, and which are near to all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.matrix import Matrix

if TYPE_CHECKING:
    from scipy.sparse import csr_array

EXACT_TOOLS: Final = 2_000
"""Up to this many tools every one is a pivot."""
PIVOTS: Final = 256
"""Tools that distances are taken from beyond that."""
CELLS: Final = 4_000_000
"""Pairs of a pivot and a tool that are looked at together: some 70 MB."""

Spots = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Centrality:
    """How central each tool of a matrix is.

    Attributes:
        betweenness: float64 in [0, 1], shape (n,): the share of shortest paths between two
            others that lead through the tool, averaged over all pairs of others.
        closeness: float64 in [0, 1], shape (n,): one by the average number of hops to the tool
            from those that reach it, times the share of tools that do.
        pivots: Number of tools that paths were followed from.
        is_exact: Whether these were all, or what stands here is an estimate.
    """

    betweenness: Values
    closeness: Values
    pivots: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _Level:
    """What lies equally far from the pivots.

    Attributes:
        spots: Pivot's number times n plus the tool's row, ascending by pivot.
        paths: Number of shortest paths to each, divided by the scales of all levels so far.
        scale: What this level's were divided by, lest they overflow.
    """

    spots: Spots
    paths: Values
    scale: float


def centrality(
    matrix: Matrix, *, exact_up_to: int = EXACT_TOOLS, pivots: int = PIVOTS, seed: int = 0
) -> Centrality:
    """Measure betweenness and closeness by hops, in one pass over the arcs from each pivot.

    O(pivots * arcs): exact with all tools as pivots, beyond `exact_up_to` of them estimated from
    a sample, which is unbiased and the same for the same matrix and seed.

    Args:
        matrix: The arcs; their weights do not count.
        exact_up_to: Number of tools.
        pivots: Size of the sample.
        seed: Of the sample.

    References:
        Brandes, A faster algorithm for betweenness centrality, J. Math. Sociol. 25 (2001);
        Brandes and Pich, Centrality estimation in large networks, Int. J. Bifurcation and Chaos
        17 (2007); Eppstein and Wang, Fast approximation of centrality, J. Graph Algorithms Appl. 8
        (2004); Wasserman and Faust, Social network analysis (1994), for tools not all can reach.
    """
    n = len(matrix.tools)
    is_exact = n <= max(exact_up_to, pivots)
    chosen = np.arange(n)
    if not is_exact:
        chosen = np.sort(np.random.default_rng(seed).choice(n, pivots, replace=False))
    passed, hops, reached = np.zeros(n), np.zeros(n), np.zeros(n)
    steps = _unweighted(matrix)
    back = steps.T.tocsr()
    batch = max(1, CELLS // max(n, 1))
    for start in range(0, len(chosen), batch):
        levels = _levels(steps, chosen[start : start + batch])
        passed += _passed(levels, back)
        for depth, level in enumerate(levels[1:], start=1):
            met = np.bincount(level.spots % n, minlength=n)
            hops += depth * met
            reached += met
    others = len(chosen) - np.isin(np.arange(n), chosen)
    return Centrality(
        betweenness=_share(passed * n, len(chosen) * (n - 1) * (n - 2)),
        closeness=_share(reached * reached, hops * others),
        pivots=len(chosen),
        is_exact=is_exact,
    )


def _levels(steps: csr_array, pivots: NDArray[np.int64]) -> list[_Level]:
    """Search from all pivots at once; return what is new at each distance."""
    n = steps.shape[0]
    spots = np.arange(len(pivots)) * n + pivots
    seen = np.zeros(len(pivots) * n, bool)
    levels = [_Level(spots, np.ones(len(pivots)), 1.0)]
    while len(spots):
        seen[spots] = True
        spots, paths = _onward(spots, levels[-1].paths, steps, len(pivots))
        is_new = ~seen[spots]
        spots, paths = spots[is_new], paths[is_new]
        scale = float(paths.max(initial=1.0))
        levels.append(_Level(spots, paths / scale, scale))
    return levels[:-1]


def _passed(levels: list[_Level], back: csr_array) -> Values:
    """Return, for each tool, the share of paths from the pivots to others that pass it."""
    n = back.shape[0]
    pivots = len(levels[0].spots)
    passed, scratch = np.zeros(pivots * n), np.zeros(pivots * n)
    for level, before in zip(levels[:0:-1], levels[-2::-1], strict=True):
        due = (1.0 + passed[level.spots]) / (level.paths * level.scale)
        spots, values = _onward(level.spots, due, back, pivots)
        scratch[spots] = values
        passed[before.spots] = before.paths * scratch[before.spots]
        scratch[spots] = 0.0
    passed[levels[0].spots] = 0.0
    total: Values = passed.reshape(pivots, n).sum(axis=0)
    return total


def _onward(spots: Spots, values: Values, steps: csr_array, pivots: int) -> tuple[Spots, Values]:
    """Pass values on along the arcs, adding up what arrives at a spot."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - heavy

    n = steps.shape[0]
    rows, columns = np.divmod(spots, n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=pivots))])
    arrived = csr_array((values, columns, starts), shape=(pivots, n)) @ steps
    rows = np.repeat(np.arange(pivots), np.diff(arrived.indptr))
    return rows * n + arrived.indices, arrived.data


def _unweighted(matrix: Matrix) -> csr_array:
    steps = matrix.weights.copy()
    steps.data = np.ones_like(steps.data)
    return steps


def _share(part: Values, whole: Values | float) -> Values:
    whole = np.broadcast_to(np.asarray(whole, float), part.shape)
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0.0)
