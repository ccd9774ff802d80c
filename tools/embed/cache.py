"""Caches the vectors of recent queries."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from tools.embed.embedder import Embedder, TextKind, Vectors
from tools.embed.reader import ReadStatements, read_nothing

DEFAULT_SIZE = 2_048  # some 3 MB of vectors with 384 dimensions


@dataclass(frozen=True, kw_only=True)
class CacheStatistics:
    """Hits, misses and size of the cache since the process started."""

    hits: int
    misses: int
    size: int


class CachedEmbedder:
    """An embedder with an LRU cache of query vectors; documents are not cached.

    Thread-safe. Two threads with the same new query may both embed it: that is cheaper than
    making one wait for the other.

    Attributes:
        read: The reader beside it.
    """

    def __init__(
        self, embedder: Embedder, *, size: int = DEFAULT_SIZE, read: ReadStatements = read_nothing
    ) -> None:
        self._embedder = embedder
        self.read = read
        self._size = size
        self._lock = threading.Lock()
        self._vectors: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._hits = 0
        self._misses = 0

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._embedder.dimensions

    @property
    def statistics(self) -> CacheStatistics:
        """Hits and misses so far."""
        with self._lock:
            return CacheStatistics(hits=self._hits, misses=self._misses, size=len(self._vectors))

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Embed texts; see `Embedder.embed`. The result is the caller's own copy."""
        if kind == "document" or not texts:
            return self._embedder.embed(texts, kind=kind)
        vectors = self._load_cached(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            fresh = dict(zip(missing, self._embedder.embed(missing, kind=kind), strict=True))
            self._store_cached(fresh)
            vectors |= fresh
        import numpy as np

        return np.stack([vectors[text] for text in texts])

    def recall(self, texts: Sequence[str]) -> Vectors | None:
        """Return the vectors of queries that were embedded before; None if one is missing."""
        vectors = self._load_cached(texts)
        if not all(text in vectors for text in texts):
            return None
        import numpy as np

        return np.stack([vectors[text] for text in texts])

    def _load_cached(self, texts: Sequence[str]) -> dict[str, Vectors]:
        cached = {}
        with self._lock:
            for text in dict.fromkeys(texts):
                vector = self._vectors.get((self.model, text))
                if vector is None:
                    self._misses += 1
                    continue
                self._hits += 1
                self._vectors.move_to_end((self.model, text))
                cached[text] = vector
        return cached

    def _store_cached(self, fresh: dict[str, Vectors]) -> None:
        with self._lock:
            for text, vector in fresh.items():
                self._vectors[self.model, text] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
