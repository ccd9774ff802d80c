"""Ranked sets as they can be suggested today: what was superseded exchanged, repetitions few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graph.enhance.instead import replacements
from graph.relations import is_guess

if TYPE_CHECKING:
    from graph.ranking.rank import RankedSet, Ranking
    from graph.suggest.types import Known

SURE: Final = 0.5
"""Confidence from which a replacement takes the place of a tool; never by servers' word alone."""
MAX_REPEATS: Final = 5
"""Times that a tool stands in a workflow; a run that called it a hundred times is no pattern."""


def current(ranking: Ranking, known: Known) -> tuple[Ranking, Mapping[int, int]]:
    """Exchange tools for those that replace them and can be called, and cut repetitions.

    Confidence stays: what the sets stand for is the same. Where a set holds both, the old one
    goes. Sets that come out the same are one, as likely as the likeliest of them, and the surest
    set then goes first.

    Args:
        ranking: Sets of tools.
        known: Tools and relations, as the caller may see them.

    Returns:
        The ranking, and what stands for which tool now, by the new one.
    """
    sets = [one for one in (ranking.best, *ranking.alternatives) if one is not None]
    new = {
        tool: other
        for tool in dict.fromkeys(tool for one in sets for tool in one.tools)
        if (other := _replacement(tool, known)) is not None
    }
    shown = _shown(sets, new)
    if list(shown.values()) == sets:
        return ranking, {}
    best, *rest = shown.values()
    if len(shown) < len(sets):  # what was chosen between is one now
        best, *rest = sorted(shown.values(), key=lambda one: -one.confidence)
    there = {tool for one in shown.values() for tool in one.tools}
    stands_for = {other: tool for tool, other in new.items() if other in there}
    likely, shares = dict(ranking.tool_probabilities), dict(ranking.clause_shares)
    for other, tool in stands_for.items():
        if tool in likely:
            likely[other] = max(likely[tool], likely.get(other, 0.0))
        if tool in shares:
            shares.setdefault(other, shares[tool])
    exchanged = replace(
        ranking,
        best=best,
        alternatives=tuple(rest),
        tool_probabilities=likely,
        clause_shares=shares,
    )
    return exchanged, stands_for


def _shown(sets: Sequence[RankedSet], new: Mapping[int, int]) -> dict[tuple[int, ...], RankedSet]:
    """Return the sets as they are suggested, by their tools; of those alike, one."""
    shown: dict[tuple[int, ...], RankedSet] = {}
    for one in sets:
        tools = _few(_exchanged(one.tools, new))
        alike = shown.get(tools)
        if alike is None:
            shown[tools] = one if tools == one.tools else replace(one, tools=tools)
        elif alike.confidence < one.confidence:
            shown[tools] = replace(alike, confidence=one.confidence)
    return shown


def _replacement(tool: int, known: Known) -> int | None:
    for relation in replacements(known.topology, tool):
        other = known.tool(relation.source)
        is_sure = relation.confidence >= SURE and not is_guess(relation)
        if is_sure and other is not None and other.is_usable:
            return other.pk
    return None


def _exchanged(tools: tuple[int, ...], new: Mapping[int, int]) -> tuple[int, ...]:
    there = set(tools)
    return tuple(new.get(tool, tool) for tool in tools if new.get(tool) not in there)


def _few(tools: tuple[int, ...]) -> tuple[int, ...]:
    seen: Counter[int] = Counter()
    kept = []
    for tool in tools:
        seen[tool] += 1
        if seen[tool] <= MAX_REPEATS:
            kept.append(tool)
    return tuple(kept)
