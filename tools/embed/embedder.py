"""The interface of embedders, independent of the engine that runs the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:  # loading numpy costs 0.1 s and 10 MB, and not every process embeds
    import numpy as np
    from numpy.typing import NDArray

TextKind = Literal["query", "document"]
Vectors: TypeAlias = "NDArray[np.float32]"


class EmbeddingUnavailable(Exception):
    """The model cannot be loaded or run; the message says what to do, in one line."""


class Embedder(Protocol):
    """A sentence-embedding model."""

    @property
    def model(self) -> str:
        """Name of the model, the key of its embeddings."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Embed texts in order.

        Args:
            texts: Any number of texts; each is truncated to the model's length.
            kind: Queries or documents; some models distinguish them.

        Returns:
            Array of shape (n, dimensions), float32, each row of L2 norm 1.

        Raises:
            EmbeddingUnavailable: If the model cannot be loaded or run.
        """
