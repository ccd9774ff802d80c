"""A draft of a workflow by words alone, for when nothing can be ranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gateway_project import catalogue_search

if TYPE_CHECKING:
    from graph.intent.reading import Reading
    from graph.ranking.rank import Ranking
    from tools.catalogue import CatalogueTool

POOL: Final = 30
"""Tools that share words with the whole intent, of which each clause chooses one."""
MAX_TOOLS: Final = 5
LEAST: Final = 0.15
"""Share of a clause's weighted words that a tool must have for it."""


def from_words(reading: Reading, tools: Sequence[CatalogueTool]) -> Ranking:
    """Take for each clause of an intent the tool that shares most of its words.

    Args:
        reading: The intent.
        tools: Those that the caller may use.

    Returns:
        One set of no confidence; none where no tool shares a word.
    """
    from graph.ranking.rank import RankedSet, Ranking  # noqa: PLC0415 - heavy

    found = catalogue_search.rank(reading.text, tools, limit=POOL)
    pool = [tool for tool, _, _ in found]
    chosen: dict[int, None] = {}
    for clause in reading.clauses:
        best = catalogue_search.rank(clause.text, pool, limit=1)
        chosen.update({tool.pk: None for tool, score, _ in best if score >= LEAST})
    if not chosen:
        chosen = dict.fromkeys(tool.pk for tool in pool[:1])
    drafted = RankedSet(tools=tuple(chosen)[:MAX_TOOLS], confidence=0.0, probability=0.0)
    return Ranking(
        best=drafted if chosen else None,
        alternatives=(),
        neighbours=(),
        tool_probabilities={},
        clause_shares={},
        history=0,
        counted=0,
    )
