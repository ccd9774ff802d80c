"""Search in the database, with a fallback to words in memory while it is unavailable."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

import django.db
import structlog

from gateway_project.effects import Effects
from gateway_project.find import catalogue_search
from gateway_project.find.request import FindRequest
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.reasons import summarize_error
from tools.catalogue import Catalogue, CatalogueTool
from tools.search import SearchAnswer, SearchHit, SearchRequest
from tools.store.search import SearchContext, SearchScope

SEARCH_TIMEOUT_S: Final = 10.0
"""Covers the first search of a process, which loads the embedding model."""

log = structlog.get_logger(__name__)


async def search_with_fallback(
    effects: Effects,
    catalogue: Catalogue,
    caller: Caller,
    request: FindRequest,
    context: SearchContext,
) -> SearchAnswer:
    """Search the database; if that fails, search memory by words and add a warning."""
    scope = SearchScope(team=caller.team, server=request.server, category=request.category)
    search_request = SearchRequest(
        query=request.query, limit=request.limit, scope=scope, context=context
    )
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT_S):
            answer = await effects.search(search_request)
    except (django.db.Error, TimeoutError) as error:
        timeout_reason = f"no answer within {SEARCH_TIMEOUT_S:g} s"
        reason = timeout_reason if isinstance(error, TimeoutError) else summarize_error(error)
        log.warning("search.fell_back_to_memory", reason=reason)
        eligible = [
            tool
            for tool in _eligible_tools(catalogue, caller, request)
            if tool.pk not in context.tools
        ]
        return await run_in_worker_thread(_search_in_memory, eligible, request, reason=reason)
    return answer


def _eligible_tools(
    catalogue: Catalogue, caller: Caller, request: FindRequest
) -> list[CatalogueTool]:
    return [
        tool
        for tool in catalogue.list_visible(caller)
        if request.server in (None, tool.server) and request.category in (None, tool.category)
    ]


def _search_in_memory(
    eligible: Iterable[CatalogueTool], request: FindRequest, *, reason: str
) -> SearchAnswer:
    ranked = catalogue_search.rank_by_words(request.query, eligible, limit=request.limit)
    return SearchAnswer(
        hits=tuple(
            SearchHit(
                tool_pk=tool.pk,
                tool=tool.tool,
                score=score,
                reasons=reasons,
                dense=None,
                lexical=None,
            )
            for tool, score, reasons in ranked
        ),
        warnings=(f"the database is unavailable, so tools were matched by words only: {reason}",),
    )
