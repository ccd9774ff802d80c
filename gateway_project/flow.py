"""One straight function for each way in: find tools, describe a tool, call a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

import django.db
import structlog

from execution import call
from execution.call import Outcome, Upstream, UpstreamResult
from gateway_project import arrange, catalogue_search, relation_rows, relation_words
from gateway_project.alternatives import alternatives
from gateway_project.arrange import Terms
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.item_lists import ItemLists, Requests
from gateway_project.kept_results import KeptResults
from gateway_project.sight import Sight
from gateway_project.tool_card import Card, Detail
from graph.enhance import enhance
from graph.enhance.rules import Rules
from graph.record import Metric
from graph.topology import Topology
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.search import Hit, SearchAnswer, SearchRequest
from tools.store.search import Context, Scope

SCOPE_SEARCH = "search"
SEARCH_TIMEOUT_S = 10.0
"""Covers the first search of a process, which loads the embedding model."""
MAX_LISTED = 20
MAX_SHOWN = 200
"""Characters of an id that a warning repeats."""
NO_TOOLS = (
    "no tool is known yet: `manage.py import_servers` registers servers, "
    "`manage.py discover` asks them for their tools"
)

NO_RELATIONS: Final = Topology()
UNFINISHED: Final = "input_required"
"""Type of a result by which a server asks for more before it can answer."""

R = TypeVar("R", bound=UpstreamResult)
Exposure = Literal["meta", "hybrid", "full"]
"""What clients are shown: the gateway's own tools; pinned tools too; or all."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Effects(Generic[R]):
    """All that the functions here reach for.

    Attributes:
        catalogue: What is known of servers and tools right now.
        search: The search in the database.
        upstream: The pool of upstream servers.
        trouble: Why a server cannot be relied on right now, by its name; empty if it can.
        count_tokens: Tokens of a text.
        token_budget: Tokens that one search answer may cost unless less is asked for.
        exposure: What clients are shown.
        requests: The pool of upstream servers, for all but tools.
        lists: What servers list beside their tools.
        kept: Results too large to send unasked.
        result_link_bytes: Size from which a result is kept and linked to; 0: never.
        sealer: Seals what passes through clients.
        topology: The relations between tools as callers of a team see them.
        metrics: PageRank, community and the like of each tool, by primary key.
        usage: How often a team called each tool, by primary key.
        count_call: Counts a call of a tool by a team, and whether it failed. Never raises.
        saw_result: Shown what a tool answered a team, to learn its shape. Never raises.
    """

    catalogue: Callable[[], Catalogue]
    search: Callable[[SearchRequest], Awaitable[SearchAnswer]]
    upstream: Upstream[R]
    trouble: Callable[[str], str]
    count_tokens: Callable[[str], int]
    token_budget: int
    exposure: Exposure
    requests: Requests
    lists: ItemLists
    kept: KeptResults
    result_link_bytes: int
    sealer: Sealer
    topology: Callable[[int | None], Topology] = lambda _team: NO_RELATIONS
    metrics: Callable[[], Mapping[int, Metric]] = dict
    usage: Callable[[int | None], Mapping[int, int]] = lambda _team: {}
    count_call: Callable[[int, int | None, bool], None] = lambda _tool, _team, _failed: None
    saw_result: Callable[[CatalogueTool, int | None, Mapping[str, Any]], None] = (
        lambda _tool, _team, _result: None
    )


@dataclass(frozen=True, kw_only=True)
class FindRequest:
    """What is looked for.

    Attributes:
        query: In words.
        limit: Matches wanted at most.
        server: Only tools of this server.
        category: Only tools of this category.
        token_budget: Tokens the answer's tools may cost; None: the installation's budget.
        detail: How much is told of each tool.
        context_tools: Ids of tools the caller uses or considers already.
    """

    query: str
    limit: int
    server: str | None = None
    category: str | None = None
    token_budget: int | None = None
    detail: Detail = "summary"
    context_tools: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Found:
    """Tools that were found, within the token budget.

    Attributes:
        tools: Matches, best first, each with what stands beneath it.
        run_order: Ids of those tools that relations order, in an order in which they can run.
        tokens_used: What tools, run order and warnings of this answer cost.
        tokens_budget: What they might have cost.
        left_out: Matches that did not fit the budget.
        tokens_listing_all: What listing every tool would cost.
        warnings: What to know of how they were found.
    """

    tools: tuple[Card, ...]
    run_order: tuple[str, ...]
    tokens_used: int
    tokens_budget: int
    left_out: int
    tokens_listing_all: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Description:
    """A tool, its server and what may do instead.

    Attributes:
        tool: From the catalogue.
        server: Its server.
        trouble: Why the server cannot be relied on right now; empty if it can.
        warnings: What relations say against calling it.
        relations: What relates it to tools the caller may know, strongest first.
        alternatives: Ids of tools that may do instead.
    """

    tool: CatalogueTool
    server: CatalogueServer
    trouble: str
    warnings: tuple[str, ...]
    relations: tuple[Mapping[str, Any], ...]
    alternatives: tuple[str, ...]


class SearchNotPermitted(Exception):
    """The caller may not search."""

    code = "not_permitted"

    def __init__(self, caller: Caller) -> None:
        super().__init__(
            f"{caller.user!r} may not look for tools; an admin can grant the scope "
            f"{SCOPE_SEARCH!r}"
        )


async def find_tools(effects: Effects[R], caller: Caller, request: FindRequest) -> Found:
    """Find the tools that fit a query, best first, cut at the token budget.

    Tools in the caller's context are not told again; others of their servers come a little
    earlier.

    Without the database the catalogue in memory is searched by words, and a warning says so.

    Raises:
        SearchNotPermitted: If the caller lacks the scope.
        QueryError: If the query says nothing.
    """
    _require_search(caller)
    catalogue = effects.catalogue()
    context, ignored = _context(catalogue, caller, request.context_tools)
    answer = await _search(effects, catalogue, caller, request, context)
    limit = min(request.token_budget or effects.token_budget, effects.token_budget)
    arranged = arrange.arrange(
        answer.hits,
        Terms(
            sight=Sight(catalogue=catalogue, caller=caller),
            topology=effects.topology(caller.team),
            usage=effects.usage(caller.team),
            metrics=effects.metrics(),
            in_use=context.tools,
            server=request.server,
            category=request.category,
            detail=request.detail,
            trouble=effects.trouble,
        ),
        count=arrange.counter(effects.count_tokens),
        budget_tokens=limit,
        warnings=(*_cautions(catalogue, caller, request), *ignored, *answer.warnings),
    )
    return Found(
        tools=arranged.cards,
        run_order=arranged.run_order,
        tokens_used=arranged.tokens,
        tokens_budget=limit,
        left_out=arranged.left_out,
        tokens_listing_all=_tokens_listing_all(catalogue, caller),
        warnings=arranged.warnings,
    )


async def describe_tool(effects: Effects[R], caller: Caller, tool_id: str) -> Description:
    """Return the whole definition of a tool that the caller may know of, usable or not.

    Raises:
        SearchNotPermitted: If the caller lacks the scope.
        UnknownTool: With ids that look alike.
    """
    _require_search(caller)
    catalogue = effects.catalogue()
    tool = catalogue.find(tool_id, caller)
    topology = effects.topology(caller.team)
    sight = Sight(catalogue=catalogue, caller=caller)
    remarks = enhance.of_tool(topology, tool.pk, rules=Rules(usable=sight.usable))
    others = alternatives(tool, topology, sight, troubled=effects.trouble)
    return Description(
        tool=tool,
        server=catalogue.servers[tool.server],
        trouble=effects.trouble(tool.server),
        warnings=relation_words.warnings(remarks, sight),
        relations=tuple(relation_rows.relations(tool, topology, sight)),
        alternatives=others[:MAX_LISTED],
    )


async def call_tool(effects: Effects[R], caller: Caller, request: call.Request) -> Outcome[R]:
    """Call an upstream tool; see `execution.call.call` for what it raises."""
    catalogue = effects.catalogue()
    outcome = await call.call(
        request, caller=caller, catalogue=catalogue, upstream=effects.upstream
    )
    _learn(effects, catalogue.tools[outcome.tool], caller, outcome.result)
    return outcome


def _learn(
    effects: Effects[R], tool: CatalogueTool, caller: Caller, result: UpstreamResult
) -> None:
    """Count a call that was concluded, and show what it answered; a question is no answer."""
    if result.raw.get("resultType") == UNFINISHED:
        return
    effects.count_call(tool.pk, caller.team, result.is_error)
    if not result.is_error:
        effects.saw_result(tool, caller.team, result.raw)


def _cautions(catalogue: Catalogue, caller: Caller, request: FindRequest) -> tuple[str, ...]:
    """Say why an answer is empty that would otherwise mislead."""
    if not catalogue.tools:
        return (NO_TOOLS,)
    warnings = []
    servers = [s.name for s in catalogue.servers.values() if s.enabled and caller.sees(s.team)]
    if request.server is not None and request.server not in servers:
        warnings.append(f"there is no server {request.server!r}; {_listed(servers)}")
    if request.category is not None:
        seen = (tool for tool in catalogue.tools.values() if caller.sees(tool.team))
        categories = {tool.category for tool in seen if tool.category}
        if request.category not in categories:
            warnings.append(f"there is no category {request.category!r}; {_listed(categories)}")
    return tuple(warnings)


def _context(
    catalogue: Catalogue, caller: Caller, tools: Iterable[str]
) -> tuple[Context, tuple[str, ...]]:
    """Look up the tools in use; what is not known is ignored with a warning."""
    known, unknown = [], []
    for tool_id in dict.fromkeys(tools):
        tool = catalogue.tools.get(tool_id) or catalogue.exposed(tool_id, caller)
        if tool is None or not caller.sees(tool.team):
            unknown.append(tool_id[:MAX_SHOWN])
        else:
            known.append(tool)
    context = Context(
        tools=frozenset(tool.pk for tool in known),
        servers=frozenset(tool.server for tool in known),
    )
    if not unknown:
        return context, ()
    more = f" and {len(unknown) - MAX_LISTED} more" if len(unknown) > MAX_LISTED else ""
    named = ", ".join(repr(tool_id) for tool_id in unknown[:MAX_LISTED])
    return context, (f"context_tools: there is no tool {named}{more}; ignored",)


def _listed(names: Iterable[str]) -> str:
    known = sorted(names)
    more = f" and {len(known) - MAX_LISTED} more" if len(known) > MAX_LISTED else ""
    return f"there are {', '.join(known[:MAX_LISTED])}{more}" if known else "there is none yet"


def _require_search(caller: Caller) -> None:
    if not caller.may(SCOPE_SEARCH):
        raise SearchNotPermitted(caller)


async def _search(
    effects: Effects[R],
    catalogue: Catalogue,
    caller: Caller,
    request: FindRequest,
    context: Context,
) -> SearchAnswer:
    scope = Scope(team=caller.team, server=request.server, category=request.category)
    wanted = SearchRequest(query=request.query, limit=request.limit, scope=scope, context=context)
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT_S):
            answer = await effects.search(wanted)
    except (django.db.Error, TimeoutError) as error:
        reason = str(error).strip() or f"no answer within {SEARCH_TIMEOUT_S:g} s"
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


def _tokens_listing_all(catalogue: Catalogue, caller: Caller) -> int:
    """Add up what the caller's tools cost; once for each team and catalogue."""
    key = ("tokens_listing_all", caller.team)
    if key not in catalogue.derived:
        catalogue.derived[key] = sum(
            tool.token_count
            for tool in catalogue.tools.values()
            if tool.usable and caller.sees(tool.team) and catalogue.servers[tool.server].enabled
        )
    tokens: int = catalogue.derived[key]
    return tokens
