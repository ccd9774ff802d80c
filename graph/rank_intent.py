"""Rank sets of tools for an intent: embed it, look up its words, ask the fitted models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.embed.embedder import EmbeddingUnavailable

if TYPE_CHECKING:
    from graph.binding.learned import Knowledge
    from graph.binding.model import BindingModel
    from graph.intent.reading import Reading
    from graph.kept_rankers import Kept
    from graph.ranking.rank import Ranking
    from tools.embed.embedder import Embedder
    from tools.search_index import SearchIndex


class NotRanked(Exception):
    """Nothing could be ranked; the message says why, to follow on a colon."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranked:
    """Ranked sets of tools, and what their arguments are bound by.

    Attributes:
        ranking: Of the sets.
        binding: Model of which stated value belongs to a parameter; None: as shipped.
        knowledge: What the team's past runs bound parameters to; None: nothing is known.
    """

    ranking: Ranking
    binding: BindingModel | None = None
    knowledge: Knowledge | None = None


def rank_intent(
    reading: Reading,
    *,
    index: SearchIndex | None,
    embedder: Embedder,
    kept: Kept | None,
    team: int | None = None,
    considered: Sequence[int] = (),
) -> Ranked:
    """Rank the sets of tools that an intent may ask for; blocking.

    Args:
        reading: The intent.
        index: The catalogue in memory.
        embedder: Embeds the intent by the model of the index.
        kept: What the team's suggestions go by.
        team: Primary key of the caller's team.
        considered: Tools to consider in any case.

    Raises:
        NotRanked: If something is missing for it.
        django.db.Error: If the database cannot be reached.
    """
    if index is None or index.model != embedder.model:
        raise NotRanked(
            "the catalogue is not in memory yet, or takes more than FOREGATE_SEARCH_MEMORY_MB"
        )
    unembedded = f"no tool is embedded by {embedder.model} yet; run `manage.py embed`"
    if not index.embeddings.any():
        raise NotRanked(unembedded)
    if kept is None:
        raise NotRanked("the models that rank cannot be read")
    from graph import encode  # noqa: PLC0415 - heavy
    from graph.ranking.rank import rank  # noqa: PLC0415 - heavy
    from graph.ranking.tool_view import ToolView  # noqa: PLC0415 - heavy

    try:
        (encoded,) = encode.encode([reading], embedder=embedder)
    except EmbeddingUnavailable as error:
        raise NotRanked(str(error)) from None
    view = ToolView.of(index, team=team)
    ranking = rank(encoded, view, kept.ranker, considered=considered)
    if ranking.best is None:
        raise NotRanked(unembedded)
    return Ranked(ranking=ranking, binding=kept.binding, knowledge=kept.knowledge)
