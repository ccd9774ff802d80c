"""Count the past runs that support a suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from graph.suggestion.workflow.types import SuggestionEvidence

if TYPE_CHECKING:
    from graph.suggestion.ranking.rank import Ranking

MIN_SIMILARITY: Final = 0.6
"""Cosine from which two intents count as similar: on a public set of 2,074 intents with 50 past
runs, the nearest one's tools are right in 7.5 % of cases below it and in 22 % or more above."""


def count_evidence(ranking: Ranking, tools: Iterable[int]) -> SuggestionEvidence:
    """Count the nearest past intents and their runs that support a set of tools.

    Args:
        ranking: Holds the nearest past intents.
        tools: Primary keys of the suggested tools.
    """
    suggested = frozenset(tools)
    neighbours = ranking.neighbours
    similar = [past for past in neighbours if past.similarity >= MIN_SIMILARITY]
    same = [past for past in similar if frozenset(past.tools) == suggested]
    return SuggestionEvidence(
        past_intent_count=ranking.past_intent_count,
        counted_runs=ranking.counted_runs,
        similar_count=len(similar),
        same_tools_count=len(same),
        successes=sum(past.successes for past in same),
        failures=sum(past.failures for past in same),
        nearest_similarity=max((past.similarity for past in neighbours), default=None),
    )
