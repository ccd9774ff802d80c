"""Score tools by words: BM25 of every posting, and coverage of tool names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.fusion import K1, B
from tools.search_index import Postings, SearchIndex

Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class WordScores:
    """Word scores of m tools.

    Attributes:
        postings: The tools that contain each of the k lexemes, p pairs.
        scores: BM25 of one lexeme in one tool, shape (p,).
        rarity: Inverse document frequency of each lexeme, shape (k,).
        name_weights: Sum of the rarities of the lexemes in a tool's name, shape (m,).
    """

    postings: Postings
    scores: Floats
    rarity: Floats
    name_weights: Floats

    @classmethod
    def from_index(cls, index: SearchIndex, visible: NDArray[np.bool_] | None) -> WordScores:
        """Score all postings of the visible tools; None: of every tool.

        Rarities and mean text length come from those tools alone.

        References:
            Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
        """
        postings, lengths = index.postings, index.lengths
        if visible is not None:
            postings, lengths = _filter_visible(postings, visible), lengths[visible]
        counts = np.diff(postings.starts)
        rarity = np.log(1 + (len(lengths) - counts + 0.5) / (counts + 0.5)).astype(np.float32)
        posting_rarity = np.repeat(rarity, counts)
        norms = _length_norms(lengths)[postings.tools]
        frequencies = postings.frequencies
        names = np.where(postings.in_name, posting_rarity, 0)
        return cls(
            postings=postings,
            scores=posting_rarity * np.float32(K1 + 1) * frequencies / (frequencies + norms),
            rarity=rarity,
            name_weights=np.bincount(postings.tools, names, minlength=len(lengths)).astype(
                np.float32
            ),
        )

    def score_lexemes(self, lexemes: Sequence[int]) -> Floats:
        """Return the BM25 of each lexeme in every tool, shape (len(lexemes), m)."""
        scores = np.zeros((len(lexemes), len(self.name_weights)), dtype=np.float32)
        for row, (start, end) in zip(scores, self.postings.find_spans(lexemes), strict=True):
            row[self.postings.tools[start:end]] = self.scores[start:end]
        return scores

    def sum_scores(self, lexemes: Sequence[int]) -> Floats:
        """Return the BM25 of distinct lexemes together in every tool, shape (m,)."""
        total = np.zeros(len(self.name_weights), dtype=np.float32)
        for start, end in self.postings.find_spans(lexemes):
            total[self.postings.tools[start:end]] += self.scores[start:end]
        return total

    def contain_lexemes(
        self, lexemes: Sequence[int], positions: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Return whether the texts of tools contain each lexeme, shape (len(lexemes), k)."""
        contains = np.zeros((len(lexemes), len(positions)), dtype=np.bool_)
        targets = positions.astype(self.postings.tools.dtype)
        for row, (start, end) in zip(contains, self.postings.find_spans(lexemes), strict=True):
            if start < end:
                tools = self.postings.tools[start:end]
                found = np.minimum(np.searchsorted(tools, targets), len(tools) - 1)
                row[:] = tools[found] == targets
        return contains

    def score_name_cover(self, lexemes: Sequence[int], positions: NDArray[np.intp]) -> Floats:
        """Return the rarity-weighted share of each tool's name covered by lexemes, in [0, 1]."""
        matched = np.zeros(len(positions), dtype=np.float32)
        targets = positions.astype(
            self.postings.tools.dtype
        )  # same dtype, or each search copies the postings
        for start, end in self.postings.find_spans(lexemes):
            if start == end:
                continue
            tools = self.postings.tools[start:end]
            found = np.minimum(np.searchsorted(tools, targets), len(tools) - 1)
            in_name = (tools[found] == positions) & self.postings.in_name[start + found]
            matched[in_name] += self._rarity_of_posting(start)
        return matched / (self.name_weights[positions] + np.float32(1e-9))

    def find_rarities(self, lexemes: Sequence[int]) -> Floats:
        """Return the inverse document frequency of lexemes; unknown ones have the highest."""
        unknown = np.float32(np.log(1 + (len(self.name_weights) + 0.5) / 0.5))
        return np.array(
            [
                self._rarity_of_posting(start) if end > start else unknown
                for start, end in self.postings.find_spans(lexemes)
            ],
            dtype=np.float32,
        )

    def _rarity_of_posting(self, start: int) -> np.float32:
        lexeme = np.searchsorted(self.postings.starts, start, side="right") - 1
        return np.float32(self.rarity[lexeme])


def _filter_visible(postings: Postings, visible: NDArray[np.bool_]) -> Postings:
    """Keep the postings of the visible tools, renumbered."""
    place = np.cumsum(visible) - 1
    is_kept = visible[postings.tools]
    before = np.concatenate(([0], np.cumsum(is_kept)))
    return Postings(
        keys=postings.keys,
        starts=before[postings.starts],
        tools=place[postings.tools[is_kept]].astype(np.int32),
        frequencies=postings.frequencies[is_kept],
        in_name=postings.in_name[is_kept],
    )


def _length_norms(lengths: NDArray[np.float64]) -> Floats:
    non_empty = lengths[lengths > 0]
    mean = max(float(non_empty.mean()), 1.0) if len(non_empty) else 1.0
    return (K1 * (1 - B + B * lengths / mean)).astype(np.float32)
