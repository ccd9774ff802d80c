"""Detect communities: tools more closely related to each other than to the rest."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.matrix import Matrix

MIN_MODULARITY_GAIN: Final = 3e-3
"""Gain of modularity below which a pass is the last; a third of this value would take a third
more time and gain 0.001."""


def detect_communities(
    matrix: Matrix, *, resolution: float = 1.0, seed: int = 0
) -> NDArray[np.int64]:
    """Partition tools into communities by the Louvain method.

    Directions are ignored: by directed modularity a tool that many depend on, and that depends on
    none, would share no community with any of them. Deterministic for a matrix and seed. O(arcs)
    per pass.

    Args:
        matrix: The arcs.
        resolution: Above 1 for smaller communities, below for larger ones.
        seed: 0 visits tools in the order of their keys, so that small changes of the graph
            change little; other seeds shuffle them.

    Returns:
        int64, shape (n,): the number of each tool's community. 0 is the largest; ties
        are ordered by smallest key.

    References:
        Blondel, Guillaume, Lambiotte and Lefebvre, Fast unfolding of communities in large
        networks, J. Stat. Mech. (2008).
    """
    if matrix.weights.nnz == 0:
        return np.arange(len(matrix.tools))
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - heavy
    from sknetwork.clustering import Louvain  # noqa: PLC0415 - heavy

    louvain = Louvain(
        resolution=resolution,
        modularity="newman",
        tol_optimization=MIN_MODULARITY_GAIN,
        tol_aggregation=MIN_MODULARITY_GAIN,
        shuffle_nodes=seed != 0,
        random_state=seed,
        return_probs=False,
        return_aggregate=False,
    )
    # Symmetrised here: scikit-network 0.33 uses the degrees of a directed matrix as those of the
    # undirected one, and stops too early.
    both_ways = csr_matrix(matrix.weights + matrix.weights.T, dtype=np.float32)
    return _renumber_by_size(louvain.fit_predict(both_ways))


def compute_modularity(
    matrix: Matrix, labels: NDArray[np.int64], *, resolution: float = 1.0
) -> float:
    """Return the modularity of communities, in [-1, 1].

    References:
        Newman, Analysis of weighted networks, Phys. Rev. E 70 (2004).
    """
    if matrix.weights.nnz == 0:
        return 0.0
    arcs = matrix.weights.tocoo()
    total = float(arcs.data.sum())
    inside = float(arcs.data[labels[arcs.row] == labels[arcs.col]].sum())
    ends = np.concatenate([labels[arcs.row], labels[arcs.col]])
    degrees = np.bincount(ends, np.concatenate([arcs.data, arcs.data])) / (2.0 * total)
    return inside / total - resolution * float(degrees @ degrees)


def _renumber_by_size(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number communities by size, then by their first member."""
    _, first, compact, sizes = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    numbers = np.empty(len(sizes), np.int64)
    numbers[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return numbers[compact]
