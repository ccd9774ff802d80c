"""Cache vectors on disk between evaluations."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tools.embed.embedder import Embedder, TextKind, Vectors
from tools.embed.graph_version import GRAPH_VERSION

CHUNK_SIZE = 256


class DiskCachedEmbedder:
    """An embedder that looks up each text in a cache on disk before it runs the model."""

    def __init__(
        self,
        embedder: Embedder,
        store: sqlite3.Connection,
        on_embedded: Callable[[int], None] = lambda _count: None,
    ) -> None:
        self._embedder = embedder
        self._store = store
        self._on_embedded = on_embedded

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Vectors:
        """Embed texts; see `Embedder.embed`."""
        keys = [_vector_key(self.model, kind, text) for text in texts]
        vector_by_key = self._load_vectors(keys)
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in vector_by_key
        }
        for chunk in _split_chunks(list(missing)):
            vectors = self._embedder.embed([missing[key] for key in chunk], kind=kind)
            self._store_vectors(chunk, vectors)
            vector_by_key |= dict(zip(chunk, vectors, strict=True))
            self._on_embedded(len(chunk))
        found = [vector_by_key[key] for key in keys]
        return np.stack(found) if found else np.empty((0, self.dimensions), dtype=np.float32)

    def _load_vectors(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        vector_by_key: dict[bytes, Vectors] = {}
        for chunk in _split_chunks(keys):
            placeholders = ",".join("?" * len(chunk))
            rows = self._store.execute(
                f"SELECT key, vector FROM kept WHERE key IN ({placeholders})", chunk
            )
            vector_by_key |= {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows}
        return vector_by_key

    def _store_vectors(self, keys: Iterable[bytes], vectors: Vectors) -> None:
        rows = [(key, vector.tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self._store:
            self._store.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", rows)


@contextmanager
def open_vector_store(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the store of vectors in a folder; a damaged one is recreated.

    Args:
        folder: Created if missing; if it is not writable, the store is in memory.
    """
    path = folder / "evaluation-vectors.sqlite3"
    connection = _open_or_recreate(path)
    try:
        yield connection
    finally:
        connection.close()


def _open_or_recreate(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _connect_with_table(str(path))
    except sqlite3.DatabaseError as error:
        if not isinstance(error, sqlite3.OperationalError):
            path.unlink(missing_ok=True)
            return _connect_with_table(str(path))
    except OSError:
        pass
    return _connect_with_table(":memory:")


def _connect_with_table(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30)
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
        )
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _vector_key(model: str, kind: TextKind, text: str) -> bytes:
    content = f"{model}\n{GRAPH_VERSION}\n{kind}\n{text}".encode("utf-8", "backslashreplace")
    return hashlib.sha256(content).digest()


def _split_chunks(keys: Sequence[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(keys), CHUNK_SIZE):
        yield list(keys[start : start + CHUNK_SIZE])
