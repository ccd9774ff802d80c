"""Vectors of intents in the form in which they are stored: half precision, sealed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway_project.foundation.sealing import Sealer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

STORED_TYPE: Final = "<f2"
"""Half precision: half the bytes; cosines change by less than 0.001."""


def seal_vector(vector: Vector, sealer: Sealer) -> bytes:
    """Return a vector as stored.

    Args:
        vector: Shape (d,), float32, norm 1.
        sealer: Seals it.
    """
    return sealer.seal_bytes(vector.astype(STORED_TYPE).tobytes())


def unseal_vector(sealed: bytes, sealer: Sealer) -> Vector:
    """Return a stored vector, shape (d,), float32, norm 1 up to rounding.

    Raises:
        UnsealingFailed: If no key of this installation opens it.
    """
    import numpy as np

    return np.frombuffer(sealer.unseal_bytes(sealed), STORED_TYPE).astype(np.float32)
