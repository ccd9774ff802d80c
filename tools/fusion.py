"""Fuse the evidence of meaning and of words into one score.

A tool's cosine and its BM25 are added with fixed weights; the sum orders the tools. BM25 is not
normalised per query: it is a log-likelihood ratio, so its height says how much the words of this
query prove. A query of common words has low BM25 throughout, so its ranking follows meaning; one
with rare words is dominated by them. Normalising per query discards that, and loses up to six
points of nDCG@10 on sets where one of the two is much better.

Whether a tool is right depends less on its sum than on how far the best one is ahead: short
queries reach low cosines even if their best tool is the only right one. The score is therefore a
logistic of the sum, of its distance to the best, and of the distance from the best to the tenth.
None of that changes the order.

Past use does: where past requests are familiar with a query, the score is the mean of the
probability by text and the probability by past requests, weighted by familiarity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

TENTH_RANK = 10
"""Rank whose distance to the best one measures how far that one is ahead."""


@dataclass(frozen=True, kw_only=True)
class FusionWeights:
    """How much each kind of evidence moves the log-odds that a tool is right.

    Attributes:
        dense: Per unit of cosine.
        lexical: Per unit of BM25.
        bias: Log-odds of a tool without any evidence.
        affinity: For a tool whose server is already in use.
        gap: Per unit of log-odds that a tool is behind the best one; not negative.
        spread: Per unit of log-odds that the best one is ahead of the tenth.
        tenth: Assumed sum of the tenth one if there are fewer than ten.
    """

    dense: float
    lexical: float
    bias: float
    affinity: float = 0.0
    gap: float = 0.0
    spread: float = 0.0
    tenth: float = 0.0


# Printed by `python -m benchmarks.tune_fusion --ratio 0.0125` over nine public sets; the affinity,
# 0.05 of a cosine, by `python -m benchmarks.search_context`; docs/search.md has held-out figures.
DEFAULT_WEIGHTS = FusionWeights(
    dense=1.56,
    lexical=0.0196,
    bias=-2.99,
    affinity=0.08,
    gap=5.8,
    spread=4.06,
    tenth=0.62,
)


@dataclass(frozen=True, kw_only=True)
class SearchEvidence:
    """The evidence for one tool.

    Attributes:
        tool_pk: Primary key.
        tool: Canonical id; breaks ties.
        dense: Cosine in [-1, 1]; None if the tool or the query has no vector.
        lexical: BM25, not negative; None if words were not compared.
        is_related: Whether another tool of its server is in use.
    """

    tool_pk: int
    tool: str
    dense: float | None
    lexical: float | None
    is_related: bool = False


@dataclass(frozen=True, kw_only=True)
class FusedHit:
    """A tool with its score in [0, 1]."""

    evidence: SearchEvidence
    score: float


def sum_evidence(evidence: SearchEvidence, *, weights: FusionWeights) -> float:
    """Return the weighted sum of a tool's evidence; missing evidence counts as zero.

    Example:
        >>> sum_evidence(
        ...     SearchEvidence(tool_pk=1, tool="s:t", dense=0.5, lexical=10.0),
        ...     weights=FusionWeights(dense=10, lexical=0.2, bias=-7),
        ... )
        7.0
    """
    affinity = weights.affinity if evidence.is_related else 0.0
    return (
        weights.dense * (evidence.dense or 0.0)
        + weights.lexical * (evidence.lexical or 0.0)
        + affinity
    )


def logistic_score(odds: float) -> float:
    """Map log-odds to [0, 1] by the logistic function.

    Example:
        >>> logistic_score(0.0), logistic_score(-1e9), logistic_score(1e9)
        (0.5, 0.0, 1.0)
    """
    return 0.5 * (1.0 + math.tanh(odds / 2.0))


def fuse_candidates(
    candidates: Iterable[SearchEvidence],
    *,
    weights: FusionWeights = DEFAULT_WEIGHTS,
    past_use: PastUse | None = None,
) -> list[FusedHit]:
    """Rank candidates by their evidence and score each; ties by canonical id.

    Args:
        candidates: In any order; must include the best ten, or all if there are fewer.
        weights: How evidence is added.
        past_use: What past requests say; a candidate that it does not speak of was never needed.
            None: nothing is known.

    Returns:
        Best first.

    Complexity: O(n log n). Deterministic.

    References:
        Bruch, Gai & Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 42 (2023).
        Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
        Jordan & Jacobs, Hierarchical Mixtures of Experts and the EM Algorithm, Neural
        Computation 6 (1994).
    """
    ranked = [(sum_evidence(item, weights=weights), item) for item in candidates]
    # By sum, not by score: of two scores that both round to 1, one is still better.
    ranked.sort(key=lambda pair: (-pair[0], pair[1].tool))
    if not ranked:
        return []
    best = ranked[0][0]
    last = ranked[:TENTH_RANK][-1][0]
    tenth = last if len(ranked) >= TENTH_RANK else min(last, weights.tenth)
    constant = weights.bias + weights.spread * (best - tenth)
    by_text = [
        FusedHit(
            evidence=item, score=logistic_score(constant + value + weights.gap * (value - best))
        )
        for value, item in ranked
    ]
    return by_text if past_use is None else _mix_past_use(by_text, past_use)


def _mix_past_use(by_text: Iterable[FusedHit], past_use: PastUse) -> list[FusedHit]:
    share = past_use.familiarity
    mixed = [
        FusedHit(
            evidence=hit.evidence,
            score=(1 - share) * hit.score
            + share * logistic_score(past_use.log_odds.get(hit.evidence.tool_pk, -math.inf)),
        )
        for hit in by_text
    ]
    # Stable: ties stay in the order of the texts.
    return sorted(mixed, key=lambda hit: -hit.score)


K1: Final = 2.0
"""BM25 term-frequency saturation; results are flat from 1 to 2.5 on the public sets."""
B: Final = 0.75
"""BM25 length normalisation; results are flat from 0.6 to 0.9."""
WHOLE_QUERY_SHARE: Final = 0.5
"""Weight of the whole query against its sentence that matches a tool best."""


# Printed by `python -m benchmarks.fit_closeness`; docs/search.md has the held-out figures.
COSINE_WEIGHT: Final = 11.6
BM25_WEIGHT: Final = 0.04
BIAS: Final = -5.62
MIN_CLOSENESS: Final = 0.16
"""Closeness below which nothing is close: 5 % of the queries that a tool fits are below it."""
NOTHING_CLOSE_WARNING: Final = (
    "nothing close was found: probably no tool here does this, whatever the best match is"
)


def estimate_closeness(similarity: float, bm25: float) -> float:
    """Return the probability, in [0, 1], that a tool fits, given half of all queries have one.

    The score of a match says which tool is likeliest if one fits; it depends on how far the best
    one is ahead. Whether any fits depends on how close the best one is, alone.

    Args:
        similarity: Cosine of the query and its best match, in [-1, 1].
        bm25: BM25 of the best match, not negative.

    Example:
        >>> estimate_closeness(0.6, 12.0) > 0.8, estimate_closeness(0.2, 3.0) < MIN_CLOSENESS
        (True, True)
    """
    return logistic_score(COSINE_WEIGHT * similarity + BM25_WEIGHT * bm25 + BIAS)


@dataclass(frozen=True, kw_only=True)
class PastUse:
    """What past requests say of the tools for a query.

    Attributes:
        familiarity: Weight of past requests against the texts of the tools, in [0, 1].
        log_odds: Log-odds that each tool is needed, by primary key.
        similar_requests: Number of past requests that resemble the query.
        use_counts: Number of these that used each tool, by primary key; absent: none.
    """

    familiarity: float
    log_odds: Mapping[int, float]
    similar_requests: int = 0
    use_counts: Mapping[int, int] = field(default_factory=dict)

    def explain(self, tool: int) -> str:
        """Return in how many similar requests a tool was used; empty: in none.

        Example:
            >>> past_use = PastUse(
            ...     familiarity=0.9, log_odds={1: 2.0}, similar_requests=8, use_counts={1: 7}
            ... )
            >>> past_use.explain(1), past_use.explain(2)
            ('used in 7 of 8 similar requests', '')
        """
        used = self.use_counts.get(tool, 0)
        if not used:
            return ""
        noun = "request" if self.similar_requests == 1 else "requests"
        return f"used in {used} of {self.similar_requests} similar {noun}"


WeighPastUse = Callable[[str, Sequence[int]], PastUse | None]
"""Weighs what past requests say of a query and the best tools by text, given by primary key; may
add other tools. None: nothing is known. CPU-bound, in memory; for any thread."""


def ignore_past_use(_query: str, _tools: Sequence[int]) -> PastUse | None:
    """Null implementation of `WeighPastUse`: nothing is known."""
    return None
