"""Search with the database, with a fallback to memory alone while it is unavailable."""

from __future__ import annotations

import asyncio
from typing import Final

import django.db
import structlog

from gateway_project.effects import Effects
from gateway_project.find.request import FindRequest
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.reasons import summarize_error
from tools.catalogue import Catalogue, CatalogueTool
from tools.search import SearchAnswer, SearchRequest
from tools.store.search import SearchContext, SearchScope
from tools.visibility import Visibility

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
    """Search; if the database fails, search what is in memory and add a warning."""
    scope = SearchScope(
        team=caller.owner,
        server=request.server,
        category=request.category,
        within=Visibility(catalogue=catalogue, caller=caller).collect_group_tools(),
    )
    search_request = SearchRequest(
        query=request.query, limit=request.limit, scope=scope, context=context
    )
    if caller.group is not None:  # the database does not know groups
        return await effects.search_in_memory(
            search_request, _list_searched(catalogue, caller, request)
        )
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT_S):
            return await effects.search(search_request)
    except (django.db.Error, TimeoutError) as error:
        timeout_reason = f"no answer within {SEARCH_TIMEOUT_S:g} s"
        reason = timeout_reason if isinstance(error, TimeoutError) else summarize_error(error)
    log.warning("search.fell_back_to_memory", reason=reason)
    tools = _list_searched(catalogue, caller, request)
    answer = await effects.search_in_memory(search_request, tools)
    by_meaning = any(hit.dense is not None for hit in answer.hits)
    basis = "searched in memory and not confirmed" if by_meaning else "matched by words only"
    warning = f"the database is unavailable, so tools were {basis}: {reason}"
    return SearchAnswer(hits=answer.hits, warnings=(*answer.warnings, warning))


def _list_searched(
    catalogue: Catalogue, caller: Caller, request: FindRequest
) -> list[CatalogueTool]:
    return [
        tool
        for tool in catalogue.list_usable(caller)
        if request.server in (None, tool.server) and request.category in (None, tool.category)
    ]
