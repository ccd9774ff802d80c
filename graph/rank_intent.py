"""Rank sets of tools for an intent: encode it, apply the fitted models.

`rank_intent` requires an index and models and encodes the intent; `rank_encoded` selects what the
team sees; `graph.suggestion.ranking.rank` ranks. Evaluation, whose intents are
encoded already, begins with the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.embed.embedder import EmbeddingUnavailable

if TYPE_CHECKING:
    from graph.ranker_cache import TeamModels
    from graph.suggestion.binding.knowledge import BindingKnowledge
    from graph.suggestion.intent.encoded import EncodedIntent
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.ranking.rank import Ranking
    from graph.suggestion.ranking.tool_view import ToolView
    from tools.embed.embedder import Embedder
    from tools.embed.reader import ReadStatements
    from tools.search_index import SearchIndex

NOT_LOADED_MESSAGE: Final = "the catalogue is still loading; try again in a second"
TOO_LARGE_MESSAGE: Final = (
    "the catalogue takes more memory than FOREGATE_SEARCH_MEMORY_MB allows; set it higher"
)


class RankingUnavailable(Exception):
    """Nothing could be ranked; the message gives the reason, worded to follow a colon."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedIntent:
    """Ranked sets of tools, and the models that bind their arguments.

    Attributes:
        knowledge: What the team's past runs bound parameters to; None: nothing is known.
        read: Reads which arguments the intent states; None: nothing does.
        rank_again: Ranks the same intent with additional tools considered; blocking, in memory.
            None if nothing was ranked.
        known_word_share: Share of the intent's words that occur in the texts of some tool, in
            [0, 1].
        fallback_reason: Why this is a draft from words alone; empty if the sets were ranked.
    """

    ranking: Ranking
    knowledge: BindingKnowledge | None = None
    read: ReadStatements | None = None
    rank_again: Callable[[Sequence[int]], Ranking] | None = None
    known_word_share: float = 1.0
    fallback_reason: str = ""


RankTools = Callable[["IntentReading", Sequence[int]], RankedIntent]
"""Ranks the sets of tools that may serve an intent, with what is in memory; tools of the second
argument are always considered. Raises `RankingUnavailable`; for any thread."""


def refuse_to_rank(reason: str) -> RankTools:
    """Return a null implementation of `RankTools` that raises `RankingUnavailable`."""

    def refuse(_reading: IntentReading, _considered: Sequence[int]) -> RankedIntent:
        raise RankingUnavailable(reason)

    return refuse


def rank_intent(  # noqa: PLR0913 - each is a source of its own
    reading: IntentReading,
    considered: Sequence[int] = (),
    *,
    index: SearchIndex | None,
    embedder: Embedder,
    models: TeamModels | None,
    team: int | None = None,
    within: frozenset[int] | None = None,
    read: ReadStatements | None = None,
) -> RankedIntent:
    """Rank the sets of tools that may serve an intent; CPU-bound, in memory.

    Args:
        reading: The intent.
        considered: Tools to consider in any case.
        index: Search index of the catalogue; None: it does not fit in memory.
        embedder: Embeds the intent with the model of the index.
        models: Models in force for the team; None: they could not be read.
        team: Primary key of the caller's team.
        within: The only tools that exist for the caller; None: all that its team sees.
        read: Reads which arguments the intent states.

    Raises:
        RankingUnavailable: If the index, the models or an embedding is missing.
    """
    from graph.encode import encode_intents

    index, models = _require_usable_models(index, models, model=embedder.model)
    try:
        (encoded,) = encode_intents([reading], embedder=embedder)
    except EmbeddingUnavailable as error:
        raise RankingUnavailable(str(error)) from None
    return rank_encoded(
        encoded,
        index=index,
        models=models,
        team=team,
        within=within,
        considered=considered,
        read=read,
    )


def _require_usable_models(
    index: SearchIndex | None, models: TeamModels | None, *, model: str
) -> tuple[SearchIndex, TeamModels]:
    """Return the index and the models, if both can be used for ranking.

    Raises:
        RankingUnavailable: If either is missing or the index is of another embedding model.
    """
    if index is None:
        raise RankingUnavailable(TOO_LARGE_MESSAGE)
    if index.model != model:
        raise RankingUnavailable(NOT_LOADED_MESSAGE)
    if not index.embeddings.any():
        raise RankingUnavailable(_unembedded_message(model))
    if models is None:
        raise RankingUnavailable("the ranking models cannot be read")
    return index, models


def rank_encoded(  # noqa: PLR0913 - each is a source of its own
    encoded: EncodedIntent,
    *,
    index: SearchIndex,
    models: TeamModels,
    team: int | None = None,
    within: frozenset[int] | None = None,
    considered: Sequence[int] = (),
    read: ReadStatements | None = None,
) -> RankedIntent:
    """Rank the sets of tools for an encoded intent; in memory, blocking.

    Raises:
        RankingUnavailable: If no tool that the team sees can be compared.
    """
    from graph.suggestion.ranking.rank import gather_evidence, rank_by_evidence
    from graph.suggestion.ranking.tool_view import ToolView

    view = ToolView.for_team(index, team=team, within=within)
    evidence = gather_evidence(encoded, view, models.ranker)

    def rank_again(additional: Sequence[int]) -> Ranking:
        all_considered = (*considered, *additional)
        return rank_by_evidence(evidence, models.ranker, considered=all_considered)

    ranking = rank_again(())
    if ranking.best is None:
        raise RankingUnavailable(_unembedded_message(index.model))
    return RankedIntent(
        ranking=ranking,
        knowledge=models.knowledge,
        read=read,
        rank_again=rank_again,
        known_word_share=_known_word_share(encoded, view),
    )


def _known_word_share(encoded: EncodedIntent, view: ToolView) -> float:
    """Return the share of an intent's words that occur in the texts of some visible tool."""
    spans = view.index.postings.find_spans(list(set(encoded.words)))
    return sum(map(view.has_postings, spans)) / len(spans) if spans else 0.0


def _unembedded_message(model: str) -> str:
    return f"no tool is embedded with {model} yet; run `manage.py embed`"
