"""Offer the tools of each step of a wish in a search, by what a suggestion would choose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gateway_project.intent.suggest import build_context
from graph.rank_intent import RankingUnavailable
from tools.fusion import NOTHING_CLOSE_WARNING
from tools.query_text import QueryError
from tools.search import SearchHit
from tools.translate import detect_language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway_project.find.answers import FindRequest
    from gateway_project.intent.suggest import SuggestionView
    from graph.suggestion.workflow.assign_tools import ScoredTool
    from tools.search import SearchAnswer

TIMEOUT_S: Final = 1.0
"""The matches of the whole query are enough if it passes."""


def may_have_steps(request: FindRequest) -> bool:
    """Whether a query may ask for several steps, and for any tools; imports nothing heavy."""
    from graph.suggestion.intent.requests import split_requests
    from graph.suggestion.workflow.plan import MAX_CHARS

    is_filtered = request.server or request.category or request.context_tools
    if is_filtered or len(request.query) > MAX_CHARS:
        return False
    requests = split_requests(request.query, detect_language(request.query))
    return sum(one.is_certain for one in requests) > 1


def offer_each_step(
    view: SuggestionView, request: FindRequest, found: SearchAnswer
) -> SearchAnswer:
    """Put the best tools of each step first, if the query clearly has several steps; CPU-bound.

    The best tool of each step comes first, then the second best of each, then the matches of the
    whole query; scores fall in this order. The answer is unchanged if tools cannot be ranked.
    """
    from graph.suggestion.intent.reading import read_intent
    from graph.suggestion.workflow import assign_tools, plan

    try:
        reading = read_intent(request.query)
        ranked = view.rank(reading, ())
    except (QueryError, RankingUnavailable):
        return found
    # Reading would take longer than all else of a search.
    context = replace(build_context(view, ranked), read=None)
    planned = assign_tools.plan_requests(reading, ranked.ranking, context)
    steps = plan.list_step_tools(ranked.ranking, planned, reading)
    if not steps:
        return found
    best = {tools[0].pk: tools[0] for tools in steps}
    second = {tools[1].pk: tools[1] for tools in steps if len(tools) > 1}
    second = {pk: tool for pk, tool in second.items() if pk not in best}
    others = [hit for hit in found.hits if hit.tool_pk not in best | second]
    top = max((hit.score for hit in found.hits), default=0.0)
    between = (top + max((hit.score for hit in others), default=0.0)) / 2
    by_tool = {hit.tool_pk: hit for hit in found.hits}
    hits = (
        *(_offer(tool, by_tool, top) for tool in best.values()),
        *(_offer(tool, by_tool, between) for tool in second.values()),
        *others,
    )
    warnings = tuple(one for one in found.warnings if one != NOTHING_CLOSE_WARNING)
    return replace(found, hits=hits[: request.limit], warnings=warnings)


def _offer(tool: ScoredTool, found: Mapping[int, SearchHit], score: float) -> SearchHit:
    """Return the hit of a tool with this score: the step decided that it is needed."""
    hit = found.get(tool.pk)
    if hit is not None:
        return replace(hit, score=score)
    return SearchHit(
        tool_pk=tool.pk,
        tool=tool.tool.tool,
        score=score,
        reasons=("serves a step of the query",),
        dense=None,
        lexical=None,
    )
