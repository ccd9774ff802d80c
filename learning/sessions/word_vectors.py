"""Records the vectors of searches and intents, for retrieval by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway_project.foundation.sealing import Sealer
from learning.memory.event import IntentVectorRecord
from tools.query_text import QueryError, read_query

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
    from gateway_project.foundation.sealing import Sealer
    from learning.episodes import Statement
    from learning.memory.capture import Capture
    from learning.sessions.session import Session
    from tools.embed.cache import CachedEmbedder


STORED_TYPE: Final = "<f2"
"""Half precision: half the bytes; cosines change by less than 0.001."""


class WordVectors:
    """Records the vector of each search and intent once; thread-safe.

    Only vectors that were computed to answer it are recorded: none is computed for this.
    """

    def __init__(self, capture: Capture, *, embedder: CachedEmbedder, sealer: Sealer) -> None:
        self._capture = capture
        self._embedder = embedder
        self._sealer = sealer

    def record(self, session: Session, words: Statement) -> None:
        """Record the vector of a search or an intent, if it is known."""
        owner, model = session.owner, self._embedder.model
        if self._capture.has_vector(team=owner, model=model, intent_hash=words.words_hash):
            return
        try:
            text = read_query(words.text).embedded_texts[0]
        except QueryError:
            return
        vectors = self._embedder.recall([text])
        if vectors is None:
            return
        self._capture.record_vector(
            IntentVectorRecord(
                team=owner,
                intent_hash=words.words_hash,
                model=model,
                at=words.at,
                sealed=seal_vector(vectors[0], self._sealer),
            )
        )


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
