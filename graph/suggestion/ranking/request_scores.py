"""Score tools for each request of an intent by meaning and words, without past runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from graph.suggestion.ranking.static_features import top_positions

if TYPE_CHECKING:
    from graph.suggestion.ranking.static_features import IntentComparison
    from graph.suggestion.ranking.tool_view import ToolView

MAX_CANDIDATES: Final = 10
"""Tools by each kind of score for one request."""
COSINE_WEIGHT: Final = 11.75
WHOLE_COSINE_WEIGHT: Final = 8.81
"""The whole intent beside one of several requests: "show the others" says little."""
BM25_WEIGHT: Final = 0.04
WORD_SHARE_WEIGHT: Final = 1.51
"""Log-odds by which a tool is likelier than another; from `python -m benchmarks.fit_plan`."""

Floats = NDArray[np.float32]
Positions = NDArray[np.intp]

_EPSILON = np.float32(1e-6)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCandidate:
    """A tool that may serve a request.

    Attributes:
        tool: Primary key.
        cosine: Mean of those with the request and with its masked form, in [-1, 1].
        z_score: Standard deviations that this is above the mean of all tools.
        whole_cosine: Cosine with the whole intent, in [-1, 1].
        bm25: Of the request's words, not negative.
        word_share: Share of the masked request's words, weighted by rarity, that its texts
            contain, in [0, 1].
    """

    tool: int
    cosine: float
    z_score: float
    whole_cosine: float
    bm25: float
    word_share: float

    @property
    def score(self) -> float:
        """Evidence of meaning and words that the request asks for it, in log-odds."""
        return (
            COSINE_WEIGHT * self.cosine
            + WHOLE_COSINE_WEIGHT * self.whole_cosine
            + BM25_WEIGHT * self.bm25
            + WORD_SHARE_WEIGHT * self.word_share
        )


def score_requests(
    compared: IntentComparison, *, tools: Sequence[int] = ()
) -> tuple[tuple[RequestCandidate, ...], ...]:
    """List the best tools of each request, best first, and further tools with their evidence.

    Args:
        compared: The intent and its requests compared with the tools visible to the caller;
            nothing is scored if it holds no requests.
        tools: Primary keys of tools to score in any case.
    """
    encoded, view = compared.encoded, compared.view
    requests = len(encoded.requests)
    if not requests or not len(view):
        return ()
    raw, whole = compared.find_cosines(encoded.requests), compared.whole
    cosines = (raw + compared.find_cosines(encoded.masked_requests)) / 2
    sample = view.sample_columns(np.asarray(cosines, dtype=np.float32))
    means, spreads = sample.mean(axis=1), sample.std(axis=1) + _EPSILON
    fixed = view.find_positions(tools)
    found = []
    for at in range(requests):
        words = _score_words(encoded.request_words[at], view)
        by_words = BM25_WEIGHT * words
        rankings = [
            COSINE_WEIGHT * cosines[at] + WHOLE_COSINE_WEIGHT * whole + by_words,
            (COSINE_WEIGHT + WHOLE_COSINE_WEIGHT) * raw[at] + by_words,
        ]
        if view.allowed is not None:
            rankings = [np.where(view.allowed, row, np.float32(-np.inf)) for row in rankings]
        best = [top_positions(row, MAX_CANDIDATES) for row in rankings]
        positions = np.unique(np.concatenate([*best, fixed[fixed >= 0]]))
        if view.allowed is not None:
            positions = positions[view.allowed[positions]]
        shares = _share_words(encoded.masked_request_words[at], view, positions)
        candidates = [
            RequestCandidate(
                tool=int(view.tools[position]),
                cosine=float(cosines[at, position]),
                z_score=float((cosines[at, position] - means[at]) / spreads[at]),
                whole_cosine=float(whole[position]),
                bm25=float(words[position]),
                word_share=float(share),
            )
            for position, share in zip(positions, shares, strict=True)
        ]
        found.append(tuple(sorted(candidates, key=lambda one: -one.score)))
    return tuple(found)


def _score_words(lexemes: Sequence[int], view: ToolView) -> Floats:
    return view.words.sum_scores(list(dict.fromkeys(lexemes)))


def _share_words(lexemes: Sequence[int], view: ToolView, positions: Positions) -> Floats:
    """Return the rarity-weighted share of words that each tool's texts contain."""
    distinct = list(dict.fromkeys(lexemes))
    if not distinct:
        return np.zeros(len(positions), dtype=np.float32)
    rarities = view.words.find_rarities(distinct)
    contains = view.words.contain_lexemes(distinct, positions)
    return np.asarray(rarities @ contains / rarities.sum(), dtype=np.float32)
