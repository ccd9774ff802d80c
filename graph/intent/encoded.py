"""An intent as numbers: what ranking reads of it, and all that is kept of its words."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_HEADER = struct.Struct("<BHHHHIH")  # form, d, sentences, clauses, words, length, words of clauses
_FORM = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """An intent as vectors and lexemes. Vectors are float32 of norm 1 and dimension d.

    Attributes:
        whole: Of the whole text, shape (d,).
        masked: Of its masked form, shape (d,).
        sentences: Shape (s, d), s >= 1.
        clauses: Shape (c, d), c >= 1, in the order of the text.
        masked_clauses: Shape (c, d).
        words: Keys of the lexemes of the whole, in order; may recur.
        clause_words: Keys of the lexemes of each clause.
        length: Characters of the text.
    """

    whole: Floats
    masked: Floats
    sentences: Floats
    clauses: Floats
    masked_clauses: Floats
    words: tuple[int, ...]
    clause_words: tuple[tuple[int, ...], ...]
    length: int

    def to_bytes(self) -> bytes:
        """Write it down, vectors in half precision: some 10 kB for four clauses of 384."""
        counts = [len(words) for words in self.clause_words]
        header = _HEADER.pack(
            _FORM,
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
    def from_bytes(data: bytes) -> Encoded:
        """Read what `to_bytes` wrote.

        Raises:
            ValueError: If it is of another form, or torn.
        """
        try:
            return _read(memoryview(data))
        except (struct.error, ValueError) as error:
            raise ValueError(f"not an encoded intent: {error}") from error


def _read(data: memoryview) -> Encoded:
    form, dimensions, sentences, clauses, words, length, clause_words = _HEADER.unpack_from(data)
    if form != _FORM:
        raise ValueError(f"its form is {form}, and this version reads {_FORM}")
    at = _HEADER.size
    counts = np.frombuffer(data, dtype="<u2", count=clauses, offset=at).tolist()
    at += 2 * clauses
    keys = np.frombuffer(data, dtype="<i8", count=words + clause_words, offset=at).tolist()
    at += 8 * len(keys)
    rows = 2 + sentences + 2 * clauses
    flat = np.frombuffer(data, dtype="<f2", count=rows * dimensions, offset=at)
    vectors = flat.astype(np.float32).reshape(rows, dimensions)
    starts = np.cumsum([words, *counts]).tolist()
    return Encoded(
        whole=vectors[0],
        masked=vectors[1],
        sentences=vectors[2 : 2 + sentences],
        clauses=vectors[2 + sentences : 2 + sentences + clauses],
        masked_clauses=vectors[2 + sentences + clauses :],
        words=tuple(keys[:words]),
        clause_words=tuple(tuple(keys[a:b]) for a, b in pairwise(starts)),
        length=length,
    )
