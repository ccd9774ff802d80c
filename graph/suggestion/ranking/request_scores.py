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
LEXICAL_WEIGHT: Final = 0.015
"""Worth of one unit of BM25 in units of cosine, near that of search (0.02)."""
CONTEXT_WEIGHT: Final = 0.3
"""Weight of the whole intent beside one of several requests: "show the others" says little."""

Floats = NDArray[np.float32]
Positions = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCandidate:
    """A tool that may serve a request.

    Attributes:
        tool: Primary key.
        score: Evidence of meaning and words, of the request and of the whole intent.
        cosine: Mean cosine with the request and with its masked form, in [-1, 1].
        word_share: Share of the masked request's words, weighted by rarity, that its texts
            contain, in [0, 1].
    """

    tool: int
    score: float
    cosine: float
    word_share: float


def score_requests(
    compared: IntentComparison, *, tools: Sequence[int] = ()
) -> tuple[tuple[RequestCandidate, ...], ...]:
    """List the best tools of each request, best first, and further tools with their scores.

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
    mean = (raw + compared.find_cosines(encoded.masked_requests)) / 2
    if requests == 1:  # then the whole is the request as it was typed, before idioms
        mean = (2 * mean + whole) / 3
    context = whole + LEXICAL_WEIGHT * _score_words(encoded.words, view)
    fixed = view.find_positions(tools)
    found = []
    for at in range(requests):
        words = LEXICAL_WEIGHT * _score_words(encoded.request_words[at], view)
        score = mean[at] + words
        if requests > 1:
            score = score + CONTEXT_WEIGHT * context
        rankings = [score, raw[at] + words]
        if view.allowed is not None:
            rankings = [np.where(view.allowed, row, np.float32(-2)) for row in rankings]
        best = [top_positions(row, MAX_CANDIDATES) for row in rankings]
        positions = np.unique(np.concatenate([*best, fixed[fixed >= 0]]))
        if view.allowed is not None:
            positions = positions[view.allowed[positions]]
        shares = _share_words(encoded.masked_request_words[at], view, positions)
        order = np.argsort(-score[positions], kind="stable")
        found.append(
            tuple(
                RequestCandidate(
                    tool=int(view.tools[position]),
                    score=float(score[position]),
                    cosine=float(mean[at, position]),
                    word_share=float(share),
                )
                for position, share in zip(positions[order], shares[order], strict=True)
            )
        )
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
