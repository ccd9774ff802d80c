"""Intents compared by their words: tf-idf over single lexemes and pairs of neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_PAIR_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: spreads keys


@dataclass(frozen=True, kw_only=True, eq=False)
class Terms:
    """The terms of r texts, turned around: which texts hold each term.

    Attributes:
        keys: Of the terms, ascending, shape (t,).
        idf: Of each term, shape (t,).
        starts: Where the texts of a term begin, and the end, shape (t + 1,).
        rows: The texts of each term, shape (p,), int32.
        values: Weight of the term in the text; those of a text have norm 1, shape (p,).
        size: Texts, r.
    """

    keys: Ints
    idf: Floats
    starts: Ints
    rows: NDArray[np.int32]
    values: Floats
    size: int

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> Terms:
        """Weigh the terms of texts given as lexeme keys in order."""
        counted = [_terms(words) for words in texts]
        lengths = [len(keys) for keys, _ in counted]
        every = np.concatenate([np.zeros(0, dtype=np.int64), *(keys for keys, _ in counted)])
        counts = np.concatenate([np.zeros(0), *(found for _, found in counted)])
        keys, place = np.unique(every, return_inverse=True)
        of_term = np.bincount(place, minlength=len(keys))
        idf = np.maximum(np.log((len(texts) + 1) / (of_term + 0.5)), 0)
        rows = np.repeat(np.arange(len(texts)), lengths)
        weights = np.log1p(counts) * idf[place]
        norms = np.sqrt(np.bincount(rows, weights**2, minlength=len(texts))) + 1e-9
        order = np.argsort(place, kind="stable")
        return cls(
            keys=keys,
            idf=idf.astype(np.float32),
            starts=np.concatenate(([0], np.cumsum(of_term))),
            rows=rows[order].astype(np.int32),
            values=(weights / norms[rows])[order].astype(np.float32),
            size=len(texts),
        )

    def similarity(self, words: Sequence[int]) -> Floats:
        """Return the cosine of a text with each of the r, by the terms known; shape (r,)."""
        found = np.zeros(self.size, dtype=np.float32)
        keys, counts = _terms(words)
        at = np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        at = at[known]
        weights = np.log1p(counts[known]).astype(np.float32) * self.idf[at]
        weights /= np.linalg.norm(weights) + 1e-9
        for term, weight in zip(at.tolist(), weights, strict=True):
            span = slice(self.starts[term], self.starts[term + 1])
            found[self.rows[span]] += weight * self.values[span]
        return found

    def gram(self) -> Floats:
        """Return the cosine of each two of the texts, shape (r, r)."""
        from scipy import sparse  # noqa: PLC0415 - heavy

        shape = (len(self.keys), self.size)
        held = sparse.csr_matrix((self.values, self.rows, self.starts), shape=shape)
        return np.asarray((held.T @ held).toarray(), dtype=np.float32)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Write it as arrays."""
        return {
            "keys": self.keys,
            "idf": self.idf,
            "starts": self.starts,
            "rows": self.rows,
            "values": self.values.astype(np.float16),
            "size": np.array(self.size),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Terms:
        """Read what `to_arrays` wrote."""
        return cls(
            keys=arrays["keys"],
            idf=arrays["idf"],
            starts=arrays["starts"],
            rows=arrays["rows"],
            values=arrays["values"].astype(np.float32),
            size=int(arrays["size"]),
        )


def _terms(words: Sequence[int]) -> tuple[Ints, NDArray[np.float64]]:
    """Return the keys of the distinct terms of a text, ascending, and how often each occurs."""
    single = np.asarray(words, dtype=np.int64)
    wide = single.view(np.uint64)
    pairs = (wide[:-1] * _PAIR_FACTOR) ^ wide[1:]
    keys, counts = np.unique(np.concatenate((single, pairs.view(np.int64))), return_counts=True)
    return keys, counts.astype(np.float64)
