"""One straight function for each way in: find tools, handle an intent, call a tool, run some."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import UUID

import structlog

from execution import call, mode
from execution.call import Outcome, UpstreamResult
from execution.call_errors import ApprovalRequired, NotPermitted
from execution.control import Action
from execution.planning.plan import Plan
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project import (
    arrange,
    direct_call,
    intent_ground,
    intent_ranked,
    intent_reading,
    relation_rows,
    relation_words,
    search_fallback,
    unknown_names,
)
from gateway_project.alternatives import alternatives
from gateway_project.arrange import Terms
from gateway_project.direct_call import Person
from gateway_project.effects import Effects, IntentEffects
from gateway_project.find_request import FindRequest
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import computed
from gateway_project.intent_answer import IntentAnswer, IntentRequest
from gateway_project.run_face import plan as run_plan
from gateway_project.run_face.plan import Controlled, NotRunnable, RunEffects
from gateway_project.run_face.request import ControlRequest, RunRequest, Watch, unwatched
from gateway_project.sight import Sight
from gateway_project.tool_card import Card, clean
from graph.enhance import enhance
from graph.enhance.rules import Rules
from tools.catalogue import Catalogue, CatalogueServer, CatalogueTool

SCOPE_SEARCH = "search"
UNFINISHED: Final = "input_required"
"""Type of a result by which a server asks for more before it can answer."""

MAX_ID: Final = 100
"""Characters of what is no id of a run that an error repeats."""

R = TypeVar("R", bound=UpstreamResult)

log = structlog.get_logger(__name__)


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
    answer = await search_fallback.search(effects, catalogue, caller, request, context)
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
    ranked, unranked = await intent_ranked.ranked(effects, sight, read, context)
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


async def call_tool(
    effects: Effects[R],
    caller: Caller,
    request: call.Request,
    *,
    person: Person = direct_call.NOBODY,
) -> Outcome[UpstreamResult]:
    """Call an upstream tool; see `execution.call.call` for what it raises.

    What a person has to approve first becomes a run of its own; see `direct_call.conclude`.
    """
    catalogue = effects.catalogue()
    try:
        outcome = await call.call(
            request,
            caller=caller,
            catalogue=catalogue,
            upstream=effects.upstream,
            latest=effects.catalogue,
        )
    except ApprovalRequired:
        return await direct_call.conclude(effects, caller, request, person=person)
    _learn(effects, catalogue.tools[outcome.tool], caller, outcome.result)
    return outcome


async def run_workflow(
    effects: RunEffects, caller: Caller, request: RunRequest, *, watch: Watch = unwatched
) -> Plan | RunView:
    """Run a workflow, and return how it stands when it is at rest or the time is up.

    The run goes on whatever becomes of this. A dry run returns the plan, whatever is wrong.

    Args:
        effects: What it reaches for.
        caller: Who asks.
        request: What is to be run.
        watch: Entered while the run is waited for.

    Raises:
        NotPermitted: If the caller may not call tools.
        InvalidWorkflow: If it is none; everything that is wrong with it is told.
        NotRunnable: If it is one, but cannot be run by this caller with these tools.
        IdempotencyConflict: If the key stands for another request.
        RunsUnavailable: If the database is away.
    """
    _require_call(caller)
    planned = await computed(
        run_plan.planned, request, caller=caller, catalogue=effects.catalogue()
    )
    if request.dry_run:
        return planned
    if planned.problems:
        raise NotRunnable(planned.problems)
    started = await effects.runs.start(
        caller,
        planned,
        intent=request.intent,
        options=request.options,
        idempotency_key=request.idempotency_key,
    )
    return await _stands(effects, caller, started.run, wait_s=request.wait_s, watch=watch)


async def get_run(
    effects: RunEffects, caller: Caller, run: str, *, wait_s: float = 0.0, watch: Watch = unwatched
) -> RunView:
    """Return how a run stands, once it is at rest or the time is up.

    Looking changes nothing: what came of a single call still stands for the same call.

    Raises:
        UnknownRun: If the caller has no such run.
        RunsUnavailable: If the database is away.
    """
    _require_call(caller)
    return await _stands(effects, caller, _run_id(run), wait_s=wait_s, watch=watch)


async def control_run(
    effects: RunEffects, caller: Caller, request: ControlRequest, *, watch: Watch = unwatched
) -> Controlled:
    """Tell a run what to do, and return how it stands then; approvals are for people to decide.

    Raises:
        UnknownRun: If the caller has no such run.
        NotPossible: If it cannot do that as it stands.
        InvalidWorkflow: If what it is to do instead is none, or changes what has begun.
        NotRunnable: If that cannot be run by this caller with these tools.
        RunsUnavailable: If the database is away.
    """
    _require_call(caller)
    run = _run_id(request.run)
    action, new = Action(request.action), None
    if action is Action.REPLAN:
        standing = await effects.runs.view(caller, run, results=False, workflow=True)
        new = await computed(
            run_plan.replanned,
            standing,
            request.workflow,
            caller=caller,
            catalogue=effects.catalogue(),
        )
    await effects.runs.control(caller, run, action, workflow=new.workflow if new else None)
    view = await _stands(effects, caller, run, wait_s=request.wait_s, watch=watch)
    return Controlled(view=view, merged=new.merged if new else None)


async def _stands(
    effects: RunEffects, caller: Caller, run: UUID, *, wait_s: float, watch: Watch
) -> RunView:
    """Return how a run stands, read once: when it is at rest or the time is up."""
    if not wait_s:
        return await effects.runs.view(caller, run)
    async with watch(run):
        return await effects.runs.wait(caller, run, wait_s=wait_s)


def _run_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise UnknownRun(clean(text[:MAX_ID])) from None


def _require_call(caller: Caller) -> None:
    if not caller.may(call.SCOPE):
        raise NotPermitted(caller)


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
