"""Compare texts by words: tf-idf over single lexemes and adjacent pairs."""

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
class TermIndex:
    """Inverted index of the terms of r texts.

    Attributes:
        keys: Keys of the terms, ascending, shape (t,).
        idf: Inverse document frequency of each term, shape (t,).
        starts: First entry of each term, and the end, shape (t + 1,).
        rows: The texts that contain each term, shape (p,), int32.
        values: Weight of the term in the text, norm 1 per text, shape (p,).
        size: Number of texts, r.
    """

    keys: Ints
    idf: Floats
    starts: Ints
    rows: NDArray[np.int32]
    values: Floats
    size: int

    @classmethod
    def from_texts(cls, texts: Sequence[Sequence[int]]) -> TermIndex:
        """Build the index from texts given as lexeme keys in order."""
        counted = [_count_terms(words) for words in texts]
        lengths = [len(keys) for keys, _ in counted]
        all_keys = np.concatenate([np.zeros(0, dtype=np.int64), *(keys for keys, _ in counted)])
        counts = np.concatenate([np.zeros(0), *(tallies for _, tallies in counted)])
        keys, place = np.unique(all_keys, return_inverse=True)
        document_counts = np.bincount(place, minlength=len(keys))
        idf = np.maximum(np.log((len(texts) + 1) / (document_counts + 0.5)), 0)
        rows = np.repeat(np.arange(len(texts)), lengths)
        weights = np.log1p(counts) * idf[place]
        norms = np.sqrt(np.bincount(rows, weights**2, minlength=len(texts))) + 1e-9
        order = np.argsort(place, kind="stable")
        return cls(
            keys=keys,
            idf=idf.astype(np.float32),
            starts=np.concatenate(([0], np.cumsum(document_counts))),
            rows=rows[order].astype(np.int32),
            values=(weights / norms[rows])[order].astype(np.float32),
            size=len(texts),
        )

    def compute_similarity(self, words: Sequence[int]) -> Floats:
        """Return the cosine of a text with each of the r, over known terms, shape (r,)."""
        cosines = np.zeros(self.size, dtype=np.float32)
        keys, counts = _count_terms(words)
        columns = np.searchsorted(self.keys, keys)
        is_known = columns < len(self.keys)
        is_known[is_known] = self.keys[columns[is_known]] == keys[is_known]
        columns = columns[is_known]
        weights = np.log1p(counts[is_known]).astype(np.float32) * self.idf[columns]
        weights /= np.linalg.norm(weights) + 1e-9
        for term, weight in zip(columns.tolist(), weights, strict=True):
            span = slice(self.starts[term], self.starts[term + 1])
            cosines[self.rows[span]] += weight * self.values[span]
        return cosines

    def compute_gram(self) -> Floats:
        """Return the pairwise cosines of the texts, shape (r, r)."""
        from scipy import sparse  # noqa: PLC0415 - heavy

        shape = (len(self.keys), self.size)
        matrix = sparse.csr_matrix((self.values, self.rows, self.starts), shape=shape)
        return np.asarray((matrix.T @ matrix).toarray(), dtype=np.float32)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Serialize to arrays, weights in half precision."""
        return {
            "keys": self.keys,
            "idf": self.idf,
            "starts": self.starts,
            "rows": self.rows,
            "values": self.values.astype(np.float16),
            "size": np.array(self.size),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TermIndex:
        """Read the output of `to_arrays`."""
        return cls(
            keys=arrays["keys"],
            idf=arrays["idf"],
            starts=arrays["starts"],
            rows=arrays["rows"],
            values=arrays["values"].astype(np.float32),
            size=int(arrays["size"]),
        )


def _count_terms(words: Sequence[int]) -> tuple[Ints, NDArray[np.float64]]:
    """Return the keys of the distinct terms of a text, ascending, and their counts."""
    single = np.asarray(words, dtype=np.int64)
    wide = single.view(np.uint64)
    pairs = (wide[:-1] * _PAIR_FACTOR) ^ wide[1:]
    keys, counts = np.unique(np.concatenate((single, pairs.view(np.int64))), return_counts=True)
    return keys, counts.astype(np.float64)
