"""What past runs speak for a suggestion, in numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from graph.suggest.types import Evidence

if TYPE_CHECKING:
    from graph.ranking.rank import Ranking

SIMILAR: Final = 0.6
"""Cosine from which two intents are called similar: on a public set of 2,074 intents with 50 past
runs, the nearest one's tools are right in 7.5 % of cases below it and in 22 % and more above."""


def evidence(ranking: Ranking, tools: Iterable[int]) -> Evidence:
    """Count what the nearest past intents say of a set of tools.

    Args:
        ranking: Holds the nearest past intents.
        tools: Primary keys of the suggested ones.
    """
    wanted = frozenset(tools)
    similar = [one for one in ranking.neighbours if one.similarity >= SIMILAR]
    same = [one for one in similar if frozenset(one.tools) == wanted]
    return Evidence(
        history=ranking.history,
        counted=ranking.counted,
        similar=len(similar),
        same_tools=len(same),
        successes=sum(one.successes for one in same),
        failures=sum(one.failures for one in same),
        nearest=max((one.similarity for one in ranking.neighbours), default=None),
    )
