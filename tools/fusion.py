"""Fuse the evidence of meaning and of words into one score.

A tool's cosine and its BM25 are added with fixed weights and squashed into [0, 1]. BM25 is not
normalised per query: it is a log-likelihood ratio, and how high it gets says how much the words
of this very query prove. A query of common words has low BM25 throughout, so its ranking follows
meaning; one that names rare words is ruled by them. Normalising per query throws that away, and
loses up to six points of nDCG@10 on sets where one of the two is much the better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How much each kind of evidence moves the log-odds that a tool is relevant.

    Attributes:
        dense: Per unit of cosine.
        lexical: Per unit of BM25.
        bias: Log-odds of a tool without any evidence.
    """

    dense: float
    lexical: float
    bias: float


# `python -m benchmarks.tune_fusion --limit 120` gave 5.59, 0.112, -5.51 over nine public sets; the
# ratio of the first two was 0.02 in every fold of its grouped cross-validation.
DEFAULT = Weights(dense=5.6, lexical=0.112, bias=-5.5)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What speaks for one tool.

    Attributes:
        tool_pk: Primary key.
        tool: Canonical id, which breaks ties.
        dense: Cosine in [-1, 1]; None where the tool or the query has no vector.
        lexical: BM25, not negative; None where words were not looked at.
    """

    tool_pk: int
    tool: str
    dense: float | None
    lexical: float | None


@dataclass(frozen=True, kw_only=True)
class Fused:
    """A tool with its score in [0, 1]."""

    evidence: Evidence
    score: float


def log_odds(*, dense: float | None, lexical: float | None, weights: Weights) -> float:
    """Add up evidence; what is absent adds nothing.

    Example:
        >>> log_odds(dense=0.5, lexical=10.0, weights=Weights(dense=10, lexical=0.2, bias=-7))
        0.0
    """
    return weights.bias + weights.dense * (dense or 0.0) + weights.lexical * (lexical or 0.0)


def squash(odds: float) -> float:
    """Map log-odds to [0, 1] by the logistic function.

    Example:
        >>> squash(0.0), squash(-1e9), squash(1e9)
        (0.5, 0.0, 1.0)
    """
    return 0.5 * (1.0 + math.tanh(odds / 2.0))


def fuse(candidates: Iterable[Evidence], *, weights: Weights = DEFAULT) -> list[Fused]:
    """Rank candidates by score; ties by canonical id.

    Complexity: O(n log n). Deterministic.

    References:
        Bruch, Gai & Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 42 (2023).
        Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
    """
    odds = [
        (log_odds(dense=item.dense, lexical=item.lexical, weights=weights), item)
        for item in candidates
    ]
    # By log-odds, not by score: of two scores that both round to 1 one is still the better.
    odds.sort(key=lambda pair: (-pair[0], pair[1].tool))
    return [Fused(evidence=item, score=squash(value)) for value, item in odds]
