"""Compare a few vectors with many."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS: Final = 256
"""Vectors compared at a time: 0.4 MB of 384 dimensions, which a core's cache holds. Of the whole
matrix, BLAS would first write a copy to memory, or read it once for each query."""

Floats = NDArray[np.float32]


def compare_vectors(queries: Floats, vectors: Floats) -> Floats:
    """Compare queries, shape (q, d), with vectors, shape (n, d), all of norm 1: shape (q, n)."""
    columns = np.ascontiguousarray(queries.T)
    cosines = np.empty((len(queries), len(vectors)), dtype=np.float32)
    for start in range(0, len(vectors), BLOCK_ROWS):
        end = start + BLOCK_ROWS
        cosines[:, start:end] = (vectors[start:end] @ columns).T
    return cosines
