"""Search that always answers: in the database, and by words in memory while that is away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

import django.db
import structlog

from gateway_project import catalogue_search
from gateway_project.effects import Effects
from gateway_project.find_request import FindRequest
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.reasons import first_line
from tools.catalogue import Catalogue, CatalogueTool
from tools.search import Hit, SearchAnswer, SearchRequest
from tools.store.search import Context, Scope

SEARCH_TIMEOUT_S: Final = 10.0
"""Covers the first search of a process, which loads the embedding model."""

log = structlog.get_logger(__name__)


async def search(
    effects: Effects[Any],
    catalogue: Catalogue,
    caller: Caller,
    request: FindRequest,
    context: Context,
) -> SearchAnswer:
    """Return what fits a query: from the database, else by words from memory, with a warning."""
    scope = Scope(team=caller.team, server=request.server, category=request.category)
    wanted = SearchRequest(query=request.query, limit=request.limit, scope=scope, context=context)
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT_S):
            answer = await effects.search(wanted)
    except (django.db.Error, TimeoutError) as error:
        late = f"no answer within {SEARCH_TIMEOUT_S:g} s"
        reason = late if isinstance(error, TimeoutError) else first_line(error)
        log.warning("search.in_memory", reason=reason)
        eligible = [
            tool for tool in _eligible(catalogue, caller, request) if tool.pk not in context.tools
        ]
        return _search_in_memory(eligible, request, reason=reason)
    return answer


def _eligible(catalogue: Catalogue, caller: Caller, request: FindRequest) -> list[CatalogueTool]:
    return [
        tool
        for tool in catalogue.visible(caller)
        if request.server in (None, tool.server) and request.category in (None, tool.category)
    ]


def _search_in_memory(
    eligible: Iterable[CatalogueTool], request: FindRequest, *, reason: str
) -> SearchAnswer:
    ranked = catalogue_search.rank(request.query, eligible, limit=request.limit)
    return SearchAnswer(
        hits=tuple(
            Hit(
                tool_pk=tool.pk,
                tool=tool.tool,
                score=score,
                reasons=reasons,
                dense=None,
                lexical=None,
            )
            for tool, score, reasons in ranked
        ),
        warnings=(f"the database is out of reach, so tools were matched by words only: {reason}",),
    )
