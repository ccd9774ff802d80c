"""Pools token states into one normalised vector per text, and batches texts by length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gateway_project.foundation.embedding_models import Pooling
from tools.embed.embedder import Vectors

MAX_BATCH = 32
MAX_BATCH_TOKENS = 4096  # bounds the memory of attention, which grows with the square of length


def pool_states(states: Vectors, mask: NDArray[np.int64], pooling: Pooling) -> Vectors:
    """Reduce the states of tokens to one vector of norm 1 per text.

    Args:
        states: Shape (n, tokens, d), float32.
        mask: Shape (n, tokens), 1 for a token, 0 for padding.
        pooling: Mean over the tokens, or the first one's state.

    Returns:
        Shape (n, d), float32, rows of L2 norm 1.
    """
    if pooling == "cls":
        return normalise(states[:, 0])
    weights = mask[:, :, None].astype(np.float32)
    return normalise((states * weights).sum(axis=1) / weights.sum(axis=1))


def normalise(vectors: Vectors) -> Vectors:
    """Scale each row to L2 norm 1; rows of zeros stay unchanged."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = (vectors / np.maximum(norms, np.finfo(np.float32).tiny)).astype(np.float32)
    return scaled


def make_batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group texts of similar length, longest first, to minimise padding.

    Args:
        lengths: Tokens of each text.

    Yields:
        Indices into `lengths`; each group within `MAX_BATCH` and `MAX_BATCH_TOKENS`.

    Example:
        >>> list(make_batches([3, 9, 4]))
        [[1, 2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    group: list[int] = []
    for index in order:
        longest = lengths[group[0]] if group else lengths[index]
        if group and (len(group) == MAX_BATCH or longest * (len(group) + 1) > MAX_BATCH_TOKENS):
            yield group
            group = []
        group.append(index)
    if group:
        yield group
