"""Prepare ranked sets for suggestion: swap superseded tools, limit repetitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graph.enhance.alternatives import find_replacements
from graph.relations import is_server_guess

if TYPE_CHECKING:
    from graph.suggestion.ranking.rank import RankedSet, Ranking
    from graph.suggestion.workflow.types import SuggestionContext

MIN_CONFIDENCE: Final = 0.5
"""Confidence from which a replacement is used; servers' guesses alone never suffice."""
MAX_REPEATS: Final = 5
"""Limit of a tool's repetitions in a workflow; a run that called it 100 times is no pattern."""


def replace_deprecated(
    ranking: Ranking, context: SuggestionContext
) -> tuple[Ranking, Mapping[int, int]]:
    """Swap tools for callable ones that replace them, and limit repetitions.

    Confidence is unchanged. If a set holds both tools, the old one is dropped. Sets that become
    equal are merged with the higher confidence, and the most confident set then goes first.

    Args:
        ranking: Sets of tools.
        context: Tools and relations visible to the caller.

    Returns:
        The ranking, and a mapping from new tool to the tool it replaced.
    """
    sets = list(ranking.sets)
    replacements = {
        tool: new
        for tool in dict.fromkeys(tool for ranked in sets for tool in ranked.tools)
        if (new := _find_usable_replacement(tool, context)) is not None
    }
    merged = _merge_equal_sets(sets, replacements)
    if list(merged.values()) == sets:
        return ranking, {}
    best, *rest = merged.values()
    if len(merged) < len(sets):  # merged sets compete anew
        best, *rest = sorted(merged.values(), key=lambda ranked: -ranked.confidence)
    present = {tool for ranked in merged.values() for tool in ranked.tools}
    replaced_tools = {new: tool for tool, new in replacements.items() if new in present}
    probabilities, shares = dict(ranking.tool_probabilities), dict(ranking.clause_shares)
    for new, tool in replaced_tools.items():
        if tool in probabilities:
            probabilities[new] = max(probabilities[tool], probabilities.get(new, 0.0))
        if tool in shares:
            shares.setdefault(new, shares[tool])
    updated = replace(
        ranking,
        best=best,
        alternatives=tuple(rest),
        tool_probabilities=probabilities,
        clause_shares=shares,
    )
    return updated, replaced_tools


def _merge_equal_sets(
    sets: Sequence[RankedSet], replacements: Mapping[int, int]
) -> dict[tuple[int, ...], RankedSet]:
    """Return the sets to suggest, keyed by their tools; equal ones are merged."""
    merged: dict[tuple[int, ...], RankedSet] = {}
    for one in sets:
        tools = _limit_repeats(_replace_tools(one.tools, replacements))
        existing = merged.get(tools)
        if existing is None:
            merged[tools] = one if tools == one.tools else replace(one, tools=tools)
        elif existing.confidence < one.confidence:
            merged[tools] = replace(existing, confidence=one.confidence)
    return merged


def _find_usable_replacement(tool: int, context: SuggestionContext) -> int | None:
    for relation in find_replacements(context.topology, tool):
        candidate = context.find_tool(relation.source)
        is_sure = relation.confidence >= MIN_CONFIDENCE and not is_server_guess(relation)
        if is_sure and candidate is not None and candidate.is_usable:
            return candidate.pk
    return None


def _replace_tools(tools: tuple[int, ...], replacements: Mapping[int, int]) -> tuple[int, ...]:
    present = set(tools)
    return tuple(
        replacements.get(tool, tool) for tool in tools if replacements.get(tool) not in present
    )


def _limit_repeats(tools: tuple[int, ...]) -> tuple[int, ...]:
    seen: Counter[int] = Counter()
    kept = []
    for tool in tools:
        seen[tool] += 1
        if seen[tool] <= MAX_REPEATS:
            kept.append(tool)
    return tuple(kept)
