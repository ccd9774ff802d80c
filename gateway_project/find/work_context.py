"""The context of a search or an intent: what kind of work it is, before anything is suggested."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from learning.memory.context import Context, describe_context
from tools.visibility import Visibility

TOP_TOOLS: Final = 3
"""Best matches whose categories describe the work; more would make it depend on near misses."""


def describe_search(visibility: Visibility, hits: Iterable[int]) -> Context:
    """Return the context of a search.

    Args:
        visibility: The catalogue, as the caller may see it.
        hits: Primary keys of the tools found, best first.
    """
    return describe_context(categories=_list_categories(visibility, hits))


def describe_intent(
    visibility: Visibility,
    probabilities: Mapping[int, float],
    *,
    stated: Mapping[str, str],
    clause_count: int,
) -> Context:
    """Return the context of an intent; it depends on no suggestion.

    Args:
        visibility: The catalogue, as the caller may see it.
        probabilities: Probability that each single tool is needed, in [0, 1], by primary key.
        stated: `workflow_type`, `domain` and `complexity`, as far as the client states them.
        clause_count: Number of things that the intent asks for.
    """
    best = heapq.nsmallest(TOP_TOOLS, probabilities, key=lambda pk: (-probabilities[pk], pk))
    return describe_context(
        workflow_type=stated.get("workflow_type", ""),
        domain=stated.get("domain", ""),
        complexity=stated.get("complexity", ""),
        categories=_list_categories(visibility, best),
        tool_count=clause_count,
    )


def _list_categories(visibility: Visibility, tools: Iterable[int]) -> list[str]:
    """Return the categories of the first tools; where a tool has none, its server."""
    found = filter(None, map(visibility.find_tool, islice(tools, TOP_TOOLS)))
    return [tool.category or tool.server for tool in found]
