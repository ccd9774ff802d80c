"""Rank sets of tools for an intent: embed it, look up its words, ask the fitted models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.embed.embedder import EmbeddingUnavailable

if TYPE_CHECKING:
    from graph.binding.learned import Knowledge
    from graph.binding.model import BindingModel
    from graph.intent.encoded import Encoded
    from graph.intent.reading import Reading
    from graph.kept_rankers import Kept
    from graph.ranking.rank import Ranking
    from graph.ranking.tool_view import ToolView
    from tools.embed.embedder import Embedder
    from tools.search_index import SearchIndex

NOT_READ: Final = "the catalogue is still being read into memory; ask again in a second"
TOO_LARGE: Final = (
    "the catalogue takes more memory than FOREGATE_SEARCH_MEMORY_MB allows; set it higher"
)


class NotRanked(Exception):
    """Nothing could be ranked; the message says why, to follow on a colon."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranked:
    """Ranked sets of tools, and what their arguments are bound by.

    Attributes:
        ranking: Of the sets.
        binding: Model of which stated value belongs to a parameter; None: as shipped.
        knowledge: What the team's past runs bound parameters to; None: nothing is known.
        again: Ranks the same intent with some more tools considered; blocking, in memory. None
            where nothing was ranked.
        familiar: Share of the intent's words that stand in the texts of some tool, in [0, 1].
    """

    ranking: Ranking
    binding: BindingModel | None = None
    knowledge: Knowledge | None = None
    again: Callable[[Sequence[int]], Ranking] | None = None
    familiar: float = 1.0


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
        index: The catalogue in memory; None: it does not fit.
        embedder: Embeds the intent by the model of the index.
        kept: What the team's suggestions go by.
        team: Primary key of the caller's team.
        considered: Tools to consider in any case.

    Raises:
        NotRanked: If something is missing for it.
        django.db.Error: If the database cannot be reached.
    """
    index, kept = usable(index, kept, model=embedder.model)
    encoded = encode(reading, embedder=embedder)
    return rank_encoded(encoded, index=index, kept=kept, team=team, considered=considered)


def usable(
    index: SearchIndex | None, kept: Kept | None, *, model: str
) -> tuple[SearchIndex, Kept]:
    """Return what can be ranked with.

    Raises:
        NotRanked: If something is missing.
    """
    if index is None:
        raise NotRanked(TOO_LARGE)
    if index.model != model:
        raise NotRanked(NOT_READ)
    if not index.embeddings.any():
        raise NotRanked(_unembedded(model))
    if kept is None:
        raise NotRanked("the models that rank cannot be read")
    return index, kept


def embed(reading: Reading, *, embedder: Embedder) -> None:
    """Have the texts of an intent embedded and remembered; without the database, blocking.

    Raises:
        NotRanked: If there is no model.
    """
    try:
        embedder.embed(list(reading.texts), kind="query")
    except EmbeddingUnavailable as error:
        raise NotRanked(str(error)) from None


def encode(reading: Reading, *, embedder: Embedder) -> Encoded:
    """Turn an intent into numbers; asks the database for its words, blocking.

    Raises:
        NotRanked: If there is no model.
        django.db.Error: If the database cannot be reached.
    """
    from graph import encode as encoding  # noqa: PLC0415 - heavy

    try:
        (encoded,) = encoding.encode([reading], embedder=embedder)
    except EmbeddingUnavailable as error:
        raise NotRanked(str(error)) from None
    return encoded


def rank_encoded(
    encoded: Encoded,
    *,
    index: SearchIndex,
    kept: Kept,
    team: int | None = None,
    considered: Sequence[int] = (),
    without: AbstractSet[str] = frozenset(),
) -> Ranked:
    """Rank the sets of tools for an intent in numbers; in memory, blocking.

    Args:
        encoded: The intent.
        index: The catalogue in memory.
        kept: What the team's suggestions go by.
        team: Primary key of the caller's team.
        considered: Tools to consider in any case.
        without: Feature families left out, to see what they are worth.

    Raises:
        NotRanked: If no tool that the team sees can be compared.
    """
    from graph.ranking.rank import rank  # noqa: PLC0415 - heavy
    from graph.ranking.tool_view import ToolView  # noqa: PLC0415 - heavy

    view = ToolView.of(index, team=team)

    def again(more: Sequence[int]) -> Ranking:
        tools = (*considered, *more)
        return rank(encoded, view, kept.ranker, considered=tools, without=without)

    ranking = again(())
    if ranking.best is None:
        raise NotRanked(_unembedded(index.model))
    return Ranked(
        ranking=ranking,
        binding=kept.binding,
        knowledge=kept.knowledge,
        again=again,
        familiar=_familiar(encoded, view),
    )


def _familiar(encoded: Encoded, view: ToolView) -> float:
    """Return the share of an intent's words that stand in the texts of some tool."""
    import numpy as np  # noqa: PLC0415 - heavy

    words = sorted(set(encoded.words))
    return float(np.isin(words, view.index.postings.keys).mean()) if words else 0.0


def _unembedded(model: str) -> str:
    return f"no tool is embedded by {model} yet; run `manage.py embed`"
