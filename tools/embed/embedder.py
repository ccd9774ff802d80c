"""What turns text into vectors, whatever engine runs the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:  # loading numpy costs 0.1 s and 10 MB, and not every process embeds
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["query", "document"]
Vectors: TypeAlias = "NDArray[np.float32]"


class EmbeddingUnavailable(Exception):
    """The model cannot be loaded or run; one line that says what to do."""


class Embedder(Protocol):
    """A sentence-embedding model."""

    @property
    def model(self) -> str:
        """Name of the model, as embeddings are keyed by it."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Embed texts, in their order.

        Args:
            texts: Any number of texts; what exceeds the model's length is cut.
            kind: Whether they are searched for or searched in; some models tell them apart.

        Returns:
            Array of shape (n, dimensions), float32, each row of L2 norm 1.

        Raises:
            EmbeddingUnavailable: If the model cannot be loaded or run.
        """
