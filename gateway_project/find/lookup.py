"""Search with the database or memory alone, by what a request names and the caller may see."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import Final

import django.db
import structlog

from gateway_project.effects import Effects, IntentEffects
from gateway_project.find.answers import FindRequest
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.reasons import summarize_error
from graph.topology import Topology
from tools.catalogue import Catalogue, CatalogueTool
from tools.search import SearchAnswer, SearchHit, SearchRequest
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


MAX_LISTED = 20
MAX_ID_CHARS = 200
"""Characters of an id that a warning repeats."""
NO_TOOLS_WARNING = (
    "no tool is known yet: `manage.py import_servers` registers servers, "
    "`manage.py discover` asks them for their tools"
)


def find_named_tools(
    visibility: Visibility, ids: Iterable[str], *, argument: str
) -> tuple[SearchContext, tuple[str, ...]]:
    """Look up the tools that an argument names; unknown ones are ignored with a warning.

    Args:
        visibility: What the caller may see.
        ids: Canonical ids or exposed names.
        argument: Name of the argument, for the warning.
    """
    known, unknown = [], []
    for tool_id in dict.fromkeys(ids):
        tool = visibility.catalogue.tools.get(tool_id) or visibility.catalogue.find_exposed(
            tool_id, visibility.caller
        )
        if tool is None or not visibility.caller.can_see(tool):
            unknown.append(tool_id[:MAX_ID_CHARS])
        else:
            known.append(tool)
    context = SearchContext(
        tools=frozenset(tool.pk for tool in known),
        servers=frozenset(tool.server for tool in known),
    )
    if not unknown:
        return context, ()
    more = f" and {len(unknown) - MAX_LISTED} more" if len(unknown) > MAX_LISTED else ""
    named = ", ".join(repr(tool_id) for tool_id in unknown[:MAX_LISTED])
    return context, (f"{argument}: there is no tool {named}{more}; ignored",)


def warn_unknown_filters(
    visibility: Visibility, *, server: str | None, category: str | None
) -> tuple[str, ...]:
    """Say that the answer is empty because of unknown filters or an empty catalogue."""
    catalogue, caller = visibility.catalogue, visibility.caller
    if not catalogue.tools:
        return (NO_TOOLS_WARNING,)
    warnings = []
    servers = [one.name for one in catalogue.list_servers(caller)]
    if server is not None and server not in servers:
        warnings.append(f"there is no server {server!r}; {_list_known_names(servers)}")
    if category is not None:
        visible = (tool for tool in catalogue.tools.values() if caller.can_see(tool))
        categories = {tool.category for tool in visible if tool.category}
        if category not in categories:
            warnings.append(f"there is no category {category!r}; {_list_known_names(categories)}")
    return tuple(warnings)


def _list_known_names(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - MAX_LISTED} more" if len(listed) > MAX_LISTED else ""
    return f"there are {', '.join(listed[:MAX_LISTED])}{more}" if listed else "there is none yet"


TOP_RANKS: Final = 3
"""A quarantined tool is named if it ranks among this many by words."""
MAX_RANKED_TOOLS: Final = 200
"""Quarantined tools ranked, in order of id; each takes some 0.25 ms of a search."""


def warn_waiting_matches(
    catalogue: Catalogue, caller: Caller, request: FindRequest, hits: Iterable[SearchHit]
) -> tuple[str, ...]:
    """Return a warning for each quarantined tool that matches as well as the hits.

    Only tools that were approved once are named: nobody has reviewed the texts of others.
    CPU-bound.

    Args:
        catalogue: All servers and tools.
        caller: Who searches.
        request: The search.
        hits: Results of the search.
    """
    eligible = (
        tool
        for tool in catalogue.list_quarantined(caller)
        if request.server in (None, tool.server) and request.category in (None, tool.category)
    )
    quarantined = list(islice(eligible, MAX_RANKED_TOOLS))
    if not quarantined:
        return ()
    from tools.catalogue_index import index_words, rank_by_words

    found = [catalogue.tools[hit.tool] for hit in hits if hit.tool in catalogue.tools]
    ranked = rank_by_words(request.query, index_words([*found, *quarantined]), limit=TOP_RANKS)
    best = {hit.tool_pk for hit in ranked}
    return tuple(_phrase_warning(tool) for tool in quarantined if tool.pk in best)


def _phrase_warning(tool: CatalogueTool) -> str:
    return (
        f"{tool.tool} also matches, but changed since it was approved and waits for an admin to "
        f"approve it (manage.py approve_tools {tool.tool})"
    )


async def load_topology(effects: IntentEffects, visibility: Visibility) -> Topology:
    """Return the relations that a caller's team sees; among the tools of their group, if any."""
    topology = effects.topology(visibility.caller.owner)
    if visibility.caller.group is None:
        return topology
    return await run_in_worker_thread(limit_to_group, topology, visibility)


def limit_to_group(topology: Topology, visibility: Visibility) -> Topology:
    """Return the relations among the tools of the caller's group; all, if it has none.

    They are selected once for each catalogue and topology: O(relations of the group's tools).
    """
    caller, tools = visibility.caller, visibility.collect_group_tools()
    if tools is None:
        return topology
    cache, key = visibility.catalogue.derived_cache, ("topology", caller.owner, caller.group)
    of, limited = cache.get(key, (None, None))
    if of is not topology:
        limited = Topology(topology.relations_among(tools))
        cache[key] = topology, limited
    found: Topology = limited
    return found
