"""Detect communities: tools more closely related to each other than to the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.matrix import Matrix


def detect_communities(matrix: Matrix) -> NDArray[np.int64]:
    """Partition tools into communities by the Leiden method.

    Directions are ignored: by directed modularity a tool that many depend on, and that depends on
    none, would share no community with any of them. Every community is connected. Deterministic
    for a matrix. O(arcs) per pass.

    Returns:
        int64, shape (n,): the number of each tool's community. 0 is the largest; ties
        are ordered by smallest key.

    References:
        Traag, Waltman and van Eck, From Louvain to Leiden: guaranteeing well-connected
        communities, Scientific Reports 9, 5233 (2019).
    """
    if matrix.weights.nnz == 0:
        return np.arange(len(matrix.tools))
    from graspologic_native import leiden_csr  # noqa: PLC0415 - heavy

    both_ways = (matrix.weights + matrix.weights.T).tocsr()
    _, communities = leiden_csr(
        both_ways.indptr.astype(np.int64),  # scipy's are int32 where those suffice
        both_ways.indices,
        both_ways.data,
        len(matrix.tools),
        resolution=1.0,
        seed=0,
    )
    return _renumber_by_size(np.array([communities[row] for row in range(len(matrix.tools))]))


def compute_modularity(matrix: Matrix, labels: NDArray[np.int64]) -> float:
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
    return inside / total - float(degrees @ degrees)


def _renumber_by_size(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number communities by size, then by their first member."""
    _, first, compact, sizes = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    numbers = np.empty(len(sizes), np.int64)
    numbers[np.lexsort((first, -sizes))] = np.arange(len(sizes))
    return numbers[compact]
