"""Vectors kept on disk between evaluations, so that only the first one has to wait."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tools.embed.embedder import Embedder, Kind, Vectors

CHUNK = 256


class KeptEmbedder:
    """An embedder that looks up each text on disk before it asks the model."""

    def __init__(
        self,
        embedder: Embedder,
        kept: sqlite3.Connection,
        on_embedded: Callable[[int], None] = lambda _count: None,
    ) -> None:
        self._embedder = embedder
        self._kept = kept
        self._on_embedded = on_embedded

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._embedder.model

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Embed texts; see `Embedder.embed`."""
        keys = [_key(self.model, kind, text) for text in texts]
        known = self._recall(keys)
        todo = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for chunk in _chunks(list(todo)):
            vectors = self._embedder.embed([todo[key] for key in chunk], kind=kind)
            self._keep(chunk, vectors)
            known |= dict(zip(chunk, vectors, strict=True))
            self._on_embedded(len(chunk))
        found = [known[key] for key in keys]
        return np.stack(found) if found else np.empty((0, self.dimensions), dtype=np.float32)

    def _recall(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        known: dict[bytes, Vectors] = {}
        for chunk in _chunks(keys):
            marks = ",".join("?" * len(chunk))
            rows = self._kept.execute(
                f"SELECT key, vector FROM kept WHERE key IN ({marks})", chunk
            )
            known |= {key: np.frombuffer(vector, dtype=np.float32) for key, vector in rows}
        return known

    def _keep(self, keys: Iterable[bytes], vectors: Vectors) -> None:
        rows = [(key, vector.tobytes()) for key, vector in zip(keys, vectors, strict=True)]
        with self._kept:
            self._kept.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", rows)


@contextmanager
def open_kept(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the store of vectors in a folder; one that is damaged is begun anew.

    Args:
        folder: Made if missing; where it cannot be written, vectors are kept in memory.
    """
    path = folder / "evaluation-vectors.sqlite3"
    connection = _connect(path)
    try:
        yield connection
    finally:
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _prepared(str(path))
    except sqlite3.DatabaseError as error:
        if not isinstance(error, sqlite3.OperationalError):
            path.unlink(missing_ok=True)
            return _prepared(str(path))
    except OSError:
        pass
    return _prepared(":memory:")


def _prepared(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
    )
    return connection


def _key(model: str, kind: Kind, text: str) -> bytes:
    told = f"{model}\n{kind}\n{text}".encode("utf-8", "backslashreplace")
    return hashlib.sha256(told).digest()


def _chunks(keys: Sequence[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(keys), CHUNK):
        yield list(keys[start : start + CHUNK])
