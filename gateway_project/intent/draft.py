"""Draft a set of tools from words alone, for when ranking is unavailable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from graph.suggestion.intent.reading import IntentReading
    from graph.suggestion.ranking.rank import Ranking
    from tools.catalogue import CatalogueTool

MAX_TOOLS: Final = 5


def draft_from_words(reading: IntentReading, tools: Sequence[CatalogueTool]) -> Ranking:
    """Choose, for each clause of an intent, the tool that its words fit best.

    Args:
        reading: The intent.
        tools: Tools that the caller may use.

    Returns:
        A ranking of one set with confidence 0; of none if no tool shares a word.
    """
    from graph.suggestion.ranking.rank import RankedSet, Ranking
    from tools.catalogue_index import index_words, rank_by_words

    index = index_words(tools)
    texts = [clause.english for clause in reading.clauses]
    chosen = dict.fromkeys(
        hit.tool_pk for text in texts for hit in rank_by_words(text, index, limit=1)
    )
    draft = RankedSet(tools=tuple(chosen)[:MAX_TOOLS], confidence=0.0, probability=0.0)
    return Ranking(
        best=draft if chosen else None,
        alternatives=(),
        neighbours=(),
        tool_probabilities={},
        clause_shares={},
        past_intent_count=0,
        counted_runs=0,
    )
