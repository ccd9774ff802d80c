"""Rounds weights to 8 bits, symmetric around zero, with a scale for each row or block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

BLOCK = 32
"""Weights that share a scale; the layout of onnxruntime's MatMulNBits."""
LARGEST = 127
OFFSET = 128
"""Stored value of a weight of zero in a block."""


def quantize_rows(weights: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Round each row to multiples of its scale.

    Args:
        weights: Shape (rows, columns).

    Returns:
        Values of shape (rows, columns), and scales of shape (rows, 1): weights are their product,
        to within half a scale.

    Example:
        >>> values, scales = quantize_rows(np.array([[-1.27, 0.02]], dtype=np.float32))
        >>> values.tolist()
        [[-127, 2]]
    """
    scales = np.abs(weights).max(axis=-1, keepdims=True) / np.float32(LARGEST)
    scales[scales == 0] = 1
    return np.rint(weights / scales).astype(np.int8), scales


def quantize_blocks(weights: Floats) -> tuple[NDArray[np.uint8], Floats]:
    """Round each block of a row to multiples of its scale.

    Args:
        weights: Shape (outputs, inputs); inputs a multiple of `BLOCK`.

    Returns:
        Values of shape (outputs, blocks, BLOCK), `OFFSET` meaning zero, and scales of shape
        (outputs, blocks).

    Raises:
        ValueError: If rows do not consist of whole blocks.
    """
    outputs, inputs = weights.shape
    if inputs % BLOCK:
        raise ValueError(f"rows of {inputs} weights do not consist of blocks of {BLOCK}")
    values, scales = quantize_rows(weights.reshape(outputs, -1, BLOCK))
    return (values.astype(np.int16) + OFFSET).astype(np.uint8), scales[:, :, 0]
