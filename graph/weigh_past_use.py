"""Weigh what past requests say of a search: the tools that a team used for requests like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tools.embed.embedder import EmbeddingUnavailable
from tools.fusion import PastUse

if TYPE_CHECKING:
    from graph.ranker_cache import TeamModels
    from graph.suggestion.ranking.candidates import Floats
    from graph.suggestion.ranking.past_intents import PastIntents
    from tools.embed.embedder import Embedder
    from tools.search_index import SearchIndex

UNFAMILIAR: Final = 0.4
FAMILIAR: Final = 0.9
"""Familiarity up to which search ignores past requests, and from which it follows them alone.
Chosen on seven public sets so that none loses; docs/evaluation.md has the figures, and two
more."""
MAX_SIMILAR: Final = 8
"""Nearest past requests that the reasons of a hit count; the scores use all."""
MIN_SIMILARITY: Final = 0.5
"""Cosine from which a past request counts as similar there."""


def weigh_past_use(  # noqa: PLR0913 - each is a source of its own
    query: str,
    considered: Sequence[int],
    *,
    index: SearchIndex | None,
    embedder: Embedder,
    models: TeamModels | None,
    team: int | None = None,
    within: frozenset[int] | None = None,
) -> PastUse | None:
    """Weigh what past requests say of the tools for a query; CPU-bound, in memory.

    Args:
        query: What is searched for.
        considered: Primary keys of the best tools by text; the tools that past requests favour
            are added.
        index: Search index of the catalogue; None: it is not in memory.
        embedder: Embeds the query with the model of the index.
        models: Models in force for the team; None: they are not in memory.
        team: Primary key of the caller's team.
        within: The only tools that exist for the caller; None: all that its team sees.

    Returns:
        None if there are no past requests, or no index or embedding to compare them by.
    """
    if models is None or models.ranker.past is None:
        return None
    if index is None or index.model != embedder.model:
        return None
    from graph.encode import encode_intents
    from graph.suggestion.intent.reading import read_intent
    from graph.suggestion.ranking.tool_model import score_by_history
    from graph.suggestion.ranking.tool_view import ToolView

    try:
        (encoded,) = encode_intents([read_intent(query)], embedder=embedder)
    except EmbeddingUnavailable:
        return None
    past = models.ranker.past
    scored = score_by_history(
        encoded,
        ToolView.for_team(index, team=team, within=within),
        past,
        model=models.ranker.tool_model,
        considered=considered,
    )
    similar, counts = _count_uses(past, scored.similarity)
    return PastUse(
        familiarity=_limit_familiarity(scored.familiarity),
        log_odds=dict(zip(scored.tools.tolist(), scored.logits.tolist(), strict=True)),
        similar_requests=similar,
        use_counts=counts,
    )


def _limit_familiarity(familiarity: float) -> float:
    return min(max((familiarity - UNFAMILIAR) / (FAMILIAR - UNFAMILIAR), 0.0), 1.0)


def _count_uses(past: PastIntents, similarity: Floats) -> tuple[int, dict[int, int]]:
    """Return the number of similar past requests, and of those that used each tool."""
    nearest = (-similarity).argsort(kind="stable")[:MAX_SIMILAR]
    similar = nearest[similarity[nearest] >= MIN_SIMILARITY].tolist()
    counts: dict[int, int] = {}
    for request in similar:
        for tool in past.distinct_tool_sets[request]:
            counts[tool] = counts.get(tool, 0) + 1
    return len(similar), counts
