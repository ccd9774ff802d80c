"""One straight function for each way in: find or describe tools, call one, handle an intent."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import django.db
import structlog

from execution import call, mode
from execution.call import Outcome, UpstreamResult
from gateway_project import (
    arrange,
    catalogue_search,
    intent_draft,
    intent_ground,
    intent_reading,
    relation_rows,
    relation_words,
    unknown_names,
)
from gateway_project.alternatives import alternatives
from gateway_project.arrange import Terms
from gateway_project.effects import Effects, IntentEffects
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import computed
from gateway_project.foundation.reasons import first_line
from gateway_project.intent_answer import IntentAnswer, IntentRequest
from gateway_project.sight import Sight
from gateway_project.tool_card import Card, Detail
from graph.enhance import enhance
from graph.enhance.rules import Rules
from graph.rank_intent import NotRanked, Ranked
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool
from tools.search import Hit, SearchAnswer, SearchRequest
from tools.store.search import Context, Scope

if TYPE_CHECKING:
    from graph.intent.reading import Reading

SCOPE_SEARCH = "search"
SEARCH_TIMEOUT_S = 10.0
"""Covers the first search of a process, which loads the embedding model."""

UNFINISHED: Final = "input_required"
"""Type of a result by which a server asks for more before it can answer."""

R = TypeVar("R", bound=UpstreamResult)

log = structlog.get_logger(__name__)


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
    sight = Sight(catalogue=catalogue, caller=caller)
    context, ignored = unknown_names.tools(sight, request.context_tools, argument="context_tools")
    answer = await _search(effects, catalogue, caller, request, context)
    cautions = unknown_names.filters(sight, server=request.server, category=request.category)
    limit = min(request.token_budget or effects.token_budget, effects.token_budget)
    arranged = arrange.arrange(
        answer.hits,
        Terms(
            sight=sight,
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
        warnings=(*cautions, *ignored, *answer.warnings),
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
        alternatives=others[: unknown_names.MAX_LISTED],
    )


async def handle_intent(
    effects: IntentEffects, caller: Caller, request: IntentRequest
) -> IntentAnswer:
    """Suggest a workflow for an intent, with bound arguments; nothing is run.

    Where nothing can be ranked it is a draft by words alone, and a warning says why.

    Raises:
        SearchNotPermitted: If the caller lacks the scope.
        QueryError: If the intent says nothing.
        graph.binding.parameters.ParameterError: If a parameter is of the wrong type, or nested
            too deeply.
    """
    _require_search(caller)
    read = await computed(intent_reading.read, request)
    from graph.suggest import suggest, types  # noqa: PLC0415 - heavy, but read by now

    catalogue = effects.catalogue()
    sight = Sight(catalogue=catalogue, caller=caller)
    context, ignored = unknown_names.tools(sight, request.considered, argument="tools_considered")
    ranked, unranked = await _ranked(effects, sight, read, context)
    ways = await computed(
        intent_ground.ways, intent_ground.ends(ranked, effects.topology(caller.team))
    )
    known = intent_ground.known(
        ranked,
        sight,
        topology=effects.topology(caller.team),
        metrics=effects.metrics(),
        trouble=effects.trouble,
        unranked=unranked,
        ways=ways,
    )
    asked = types.Asked(reading=read, parameters=request.parameters)
    suggestion = await computed(suggest.suggest, asked, ranked.ranking, known=known)
    cautions = (
        (*ignored, *intent_reading.cautions(read, ranked))
        if catalogue.tools
        else (unknown_names.NO_TOOLS,)
    )
    answer = IntentAnswer(
        speculation_id=uuid.uuid4().hex,
        mode=mode.decide(suggestion.confidence, is_ranked=not unranked),
        suggestion=suggestion,
        ranked=ranked,
        name=sight.name,
        warnings=(*cautions, *((unranked,) if unranked and catalogue.tools else ())),
    )
    log.info("intent.suggested", **answer.figures)
    return answer


async def _ranked(
    effects: IntentEffects, sight: Sight, read: Reading, context: Context
) -> tuple[Ranked, str]:
    """Rank sets of tools; where that cannot be, draft one by words and say why."""
    try:
        async with asyncio.timeout(SEARCH_TIMEOUT_S):
            ranked = await effects.rank(read, sight.caller.team, sorted(context.tools))
            more = intent_ground.more(ranked, sight, effects.topology(sight.caller.team))
            return await computed(intent_ground.widened, ranked, more), ""
    except TimeoutError:
        reason = f"no answer within {SEARCH_TIMEOUT_S:g} s"
    except (NotRanked, django.db.Error) as error:
        reason = first_line(error)
    log.warning("intent.not_ranked", reason=reason)
    tools = sight.catalogue.visible(sight.caller)
    drafted = await computed(intent_draft.from_words, read, tools)
    return Ranked(ranking=drafted), f"drafted from words alone, without confidence: {reason}"


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
