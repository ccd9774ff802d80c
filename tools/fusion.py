"""Fuse the evidence of meaning and of words into one score.

A tool's cosine and its BM25 are added with fixed weights; the sum orders the tools. BM25 is not
normalised per query: it is a log-likelihood ratio, and how high it gets says how much the words
of this very query prove. A query of common words has low BM25 throughout, so its ranking follows
meaning; one that names rare words is ruled by them. Normalising per query throws that away, and
loses up to six points of nDCG@10 on sets where one of the two is much the better.

How likely a tool is to be right depends less on the height of its sum than on how far the best
one stands out: short queries reach low cosines, and yet their best tool may be alone. The score
is therefore a logistic of the sum, of its distance to the best, and of the distance from the best
to the tenth. None of that changes the order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

DEPTH = 10
"""Tools that are looked at to see how far the best one stands out."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How much each kind of evidence moves the log-odds that a tool is right.

    Attributes:
        dense: Per unit of cosine.
        lexical: Per unit of BM25.
        bias: Log-odds of a tool without any evidence.
        affinity: For another tool of a server in use.
        gap: Per unit of log-odds that a tool falls behind the best one; not negative.
        spread: Per unit of log-odds that the best one is ahead of the tenth.
        tenth: What the tenth one has, where there are fewer than ten.
    """

    dense: float
    lexical: float
    bias: float
    affinity: float = 0.0
    gap: float = 0.0
    spread: float = 0.0
    tenth: float = 0.0


# As `python -m benchmarks.tune_fusion` prints them over nine public sets, the affinity as
# `python -m benchmarks.search_context` does. docs/search.md has the held-out figures.
DEFAULT = Weights(
    dense=1.2,
    lexical=0.024,
    bias=-2.94,
    affinity=0.06,
    gap=5.9,
    spread=4.35,
    tenth=0.51,
)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What speaks for one tool.

    Attributes:
        tool_pk: Primary key.
        tool: Canonical id, which breaks ties.
        dense: Cosine in [-1, 1]; None where the tool or the query has no vector.
        lexical: BM25, not negative; None where words were not looked at.
        is_kin: Whether another tool of its server is in use.
    """

    tool_pk: int
    tool: str
    dense: float | None
    lexical: float | None
    is_kin: bool = False


@dataclass(frozen=True, kw_only=True)
class Fused:
    """A tool with its score in [0, 1]."""

    evidence: Evidence
    score: float


def worth(evidence: Evidence, *, weights: Weights) -> float:
    """Add up what speaks for a tool; what is absent adds nothing.

    Example:
        >>> worth(
        ...     Evidence(tool_pk=1, tool="s:t", dense=0.5, lexical=10.0),
        ...     weights=Weights(dense=10, lexical=0.2, bias=-7),
        ... )
        7.0
    """
    kinship = weights.affinity if evidence.is_kin else 0.0
    return (
        weights.dense * (evidence.dense or 0.0)
        + weights.lexical * (evidence.lexical or 0.0)
        + kinship
    )


def squash(odds: float) -> float:
    """Map log-odds to [0, 1] by the logistic function.

    Example:
        >>> squash(0.0), squash(-1e9), squash(1e9)
        (0.5, 0.0, 1.0)
    """
    return 0.5 * (1.0 + math.tanh(odds / 2.0))


def fuse(candidates: Iterable[Evidence], *, weights: Weights = DEFAULT) -> list[Fused]:
    """Rank candidates by what speaks for them, and score each; ties by canonical id.

    Args:
        candidates: In any order; the best ten, if there are so many, must be among them.
        weights: How evidence is added.

    Returns:
        Best first.

    Complexity: O(n log n). Deterministic.

    References:
        Bruch, Gai & Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 42 (2023).
        Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
    """
    ranked = [(worth(item, weights=weights), item) for item in candidates]
    # By worth, not by score: of two scores that both round to 1 one is still the better.
    ranked.sort(key=lambda pair: (-pair[0], pair[1].tool))
    if not ranked:
        return []
    best = ranked[0][0]
    last = ranked[:DEPTH][-1][0]
    tenth = last if len(ranked) >= DEPTH else min(last, weights.tenth)
    constant = weights.bias + weights.spread * (best - tenth)
    return [
        Fused(evidence=item, score=squash(constant + value + weights.gap * (value - best)))
        for value, item in ranked
    ]
