"""Encode an intent as vectors and lexeme keys: what ranking reads, without any plain text."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_HEADER = struct.Struct(
    "<BHHHHIH"
)  # version, d, sentences, clauses, words, length, words of clauses
_FORMAT_VERSION = 1


def _no_vectors() -> Floats:
    return np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedIntent:
    """An intent as vectors and lexeme keys. Vectors are float32 of norm 1 and dimension d.

    Requests are not serialized: only new intents are planned request by request.

    Attributes:
        whole: Vector of the whole text, shape (d,).
        masked: Vector of its masked form, shape (d,).
        sentences: Vectors of the sentences, shape (s, d), s >= 1.
        clauses: Vectors of the clauses in the order of the text, shape (c, d), c >= 1.
        masked_clauses: Vectors of the masked clauses, shape (c, d).
        words: Lexeme keys of the whole text, in order; may repeat.
        clause_words: Lexeme keys of each clause.
        length: Number of characters of the text.
        requests: Vectors of the requests, shape (r, d); none if it was read from bytes.
        masked_requests: Vectors of the masked requests, shape (r, d).
        request_words: Lexeme keys of each request.
        masked_request_words: Lexeme keys of each masked request.
    """

    whole: Floats
    masked: Floats
    sentences: Floats
    clauses: Floats
    masked_clauses: Floats
    words: tuple[int, ...]
    clause_words: tuple[tuple[int, ...], ...]
    length: int
    requests: Floats = field(default_factory=_no_vectors)
    masked_requests: Floats = field(default_factory=_no_vectors)
    request_words: tuple[tuple[int, ...], ...] = ()
    masked_request_words: tuple[tuple[int, ...], ...] = ()

    def to_bytes(self) -> bytes:
        """Serialize, vectors in half precision: about 10 kB for four clauses, d = 384."""
        counts = [len(words) for words in self.clause_words]
        header = _HEADER.pack(
            _FORMAT_VERSION,
            len(self.whole),
            len(self.sentences),
            len(self.clauses),
            len(self.words),
            self.length,
            sum(counts),
        )
        rows = [self.whole[None], self.masked[None], self.sentences]
        vectors = np.concatenate([*rows, self.clauses, self.masked_clauses])
        keys = [*self.words, *(key for words in self.clause_words for key in words)]
        return b"".join(
            (
                header,
                np.asarray(counts, dtype="<u2").tobytes(),
                np.asarray(keys, dtype="<i8").tobytes(),
                vectors.astype("<f2").tobytes(),
            )
        )

    @staticmethod
    def from_bytes(data: bytes) -> EncodedIntent:
        """Read the output of `to_bytes`.

        Raises:
            ValueError: If the data is of another version, or truncated.
        """
        try:
            return _decode(memoryview(data))
        except (struct.error, ValueError) as error:
            raise ValueError(f"not an encoded intent: {error}") from error


def _decode(data: memoryview) -> EncodedIntent:
    version, dimensions, sentences, clauses, words, length, clause_words = _HEADER.unpack_from(
        data
    )
    if version != _FORMAT_VERSION:
        raise ValueError(f"its form is {version}, and this version reads {_FORMAT_VERSION}")
    offset = _HEADER.size
    counts = np.frombuffer(data, dtype="<u2", count=clauses, offset=offset).tolist()
    offset += 2 * clauses
    keys = np.frombuffer(data, dtype="<i8", count=words + clause_words, offset=offset).tolist()
    offset += 8 * len(keys)
    rows = 2 + sentences + 2 * clauses
    flat = np.frombuffer(data, dtype="<f2", count=rows * dimensions, offset=offset)
    vectors = flat.astype(np.float32).reshape(rows, dimensions)
    starts = np.cumsum([words, *counts]).tolist()
    return EncodedIntent(
        whole=vectors[0],
        masked=vectors[1],
        sentences=vectors[2 : 2 + sentences],
        clauses=vectors[2 + sentences : 2 + sentences + clauses],
        masked_clauses=vectors[2 + sentences + clauses :],
        words=tuple(keys[:words]),
        clause_words=tuple(tuple(keys[start:end]) for start, end in pairwise(starts)),
        length=length,
    )
