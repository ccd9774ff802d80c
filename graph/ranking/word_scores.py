"""How well words fit tools: BM25 of every posting, and how much of a name was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.ranking import K1, B
from tools.search_index import Postings, SearchIndex

Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordScores:
    """What lexemes say of m tools.

    Attributes:
        postings: Which of the m tools hold which of the k lexemes, p pairs.
        scores: BM25 of one lexeme in one tool, shape (p,).
        rarity: Inverse document frequency of each lexeme, shape (k,).
        name_weights: Sum of the rarities of the lexemes in a tool's name, shape (m,).
    """

    postings: Postings
    scores: Floats
    rarity: Floats
    name_weights: Floats

    @classmethod
    def of(cls, index: SearchIndex, visible: NDArray[np.bool_] | None) -> WordScores:
        """Score all postings of the tools that are visible; None: of every tool.

        How rare a word is, and how long texts are, is taken from those tools alone.

        References:
            Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
        """
        postings, lengths = index.postings, index.lengths
        if visible is not None:
            postings, lengths = _only(postings, visible), lengths[visible]
        counts = np.diff(postings.starts)
        rarity = np.log(1 + (len(lengths) - counts + 0.5) / (counts + 0.5)).astype(np.float32)
        of_posting = np.repeat(rarity, counts)
        norms = _norms(lengths)[postings.tools]
        frequencies = postings.frequencies
        names = np.where(postings.in_name, of_posting, 0)
        return cls(
            postings=postings,
            scores=of_posting * np.float32(K1 + 1) * frequencies / (frequencies + norms),
            rarity=rarity,
            name_weights=np.bincount(postings.tools, names, minlength=len(lengths)).astype(
                np.float32
            ),
        )

    def matrix(self, lexemes: Sequence[int]) -> Floats:
        """Return the BM25 of each lexeme in every tool, shape (len(lexemes), m)."""
        found = np.zeros((len(lexemes), len(self.name_weights)), dtype=np.float32)
        for row, (start, end) in zip(found, self.postings.spans(lexemes), strict=True):
            row[self.postings.tools[start:end]] = self.scores[start:end]
        return found

    def name_cover(self, lexemes: Sequence[int], at: NDArray[np.intp]) -> Floats:
        """Return how much of the names of the tools at `at` was said, by rarity, in [0, 1]."""
        said = np.zeros(len(at), dtype=np.float32)
        wanted = at.astype(self.postings.tools.dtype)  # or every search copies the postings
        for start, end in self.postings.spans(lexemes):
            if start == end:
                continue
            tools = self.postings.tools[start:end]
            found = np.minimum(np.searchsorted(tools, wanted), len(tools) - 1)
            named = (tools[found] == at) & self.postings.in_name[start + found]
            said[named] += self._rarity_at(start)
        return said / (self.name_weights[at] + np.float32(1e-9))

    def _rarity_at(self, start: int) -> np.float32:
        lexeme = np.searchsorted(self.postings.starts, start, side="right") - 1
        return np.float32(self.rarity[lexeme])


def _only(postings: Postings, visible: NDArray[np.bool_]) -> Postings:
    """Keep the postings of the visible tools, known by their place among those."""
    place = np.cumsum(visible) - 1
    kept = visible[postings.tools]
    before = np.concatenate(([0], np.cumsum(kept)))
    return Postings(
        keys=postings.keys,
        starts=before[postings.starts],
        tools=place[postings.tools[kept]].astype(np.int32),
        frequencies=postings.frequencies[kept],
        in_name=postings.in_name[kept],
    )


def _norms(lengths: NDArray[np.float64]) -> Floats:
    counted = lengths[lengths > 0]
    mean = max(float(counted.mean()), 1.0) if len(counted) else 1.0
    return (K1 * (1 - B + B * lengths / mean)).astype(np.float32)
