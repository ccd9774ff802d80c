"""Records the vectors of searches and intents, for retrieval by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning.memory import intent_vectors
from learning.memory.event import IntentVectorRecord
from tools.query_text import QueryError, read_query

if TYPE_CHECKING:
    from gateway_project.foundation.sealing import Sealer
    from learning.memory.capture import Capture
    from learning.sessions.session import Session, StatedWords
    from tools.embed.cache import CachedEmbedder


class WordVectors:
    """Records the vector of each search and intent once; thread-safe.

    Only vectors that were computed to answer it are recorded: none is computed for this.
    """

    def __init__(self, capture: Capture, *, embedder: CachedEmbedder, sealer: Sealer) -> None:
        self._capture = capture
        self._embedder = embedder
        self._sealer = sealer

    def record(self, session: Session, words: StatedWords) -> None:
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
                sealed=intent_vectors.seal_vector(vectors[0], self._sealer),
            )
        )
