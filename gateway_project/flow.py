"""One straight function per entry point: find tools, suggest a workflow, call, run."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID

import structlog

from execution import call, mode
from execution.argument_validation import convert_request
from execution.call import CallOutcome
from execution.call_errors import ApprovalRequired, CallNotPermitted
from execution.control import Action
from execution.planning.plan import Plan
from execution.speculation.outcome import Verdict
from execution.store.runs import parse_run_id
from execution.view import RunView
from gateway_project import sinks
from gateway_project.access.roles import SEARCH, require_scope
from gateway_project.effects import Effects, IntentEffects
from gateway_project.find import arrange, lookup, relation_rows, work_context
from gateway_project.find.answers import FindRequest, SearchResult, ToolDescription
from gateway_project.find.arrange import AnswerContext
from gateway_project.find.relation_rows import list_alternatives
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.intent import feedback, find_steps, suggest
from gateway_project.intent.ahead import explain_not_considered, run_answer_ahead
from gateway_project.intent.answer import IntentAnswer, IntentRequest
from gateway_project.intent.feedback import FeedbackRequest
from gateway_project.intent.suggest import SuggestionView
from gateway_project.runs import direct_call
from gateway_project.runs import plan as run_plan
from gateway_project.runs.continued_call import call_with_patience
from gateway_project.runs.direct_call import Patience, UserChannel
from gateway_project.runs.plan import WorkflowNotRunnable
from gateway_project.runs.request import ControlRequest, RunRequest, WatchRun, watch_nothing
from gateway_project.server_instructions import share_instructions
from graph.enhance import enhance
from graph.enhance.rules import EnhancementRules
from graph.rank_intent import RankTools, refuse_to_rank
from learning.predictions.interface import Feedback
from tools.search import SearchAnswer
from tools.upstream.request import UpstreamRequest
from tools.visibility import Visibility

_AGENT_DECISIONS: Final = frozenset({Action.CONTINUE, Action.REPLAN, Action.ABORT})

log = structlog.get_logger(__name__)


async def find_tools(effects: Effects, caller: Caller, request: FindRequest) -> SearchResult:
    """Find the tools that fit a query, best first, cut at the token budget.

    Tools in the caller's context are left out; others of their servers rank slightly higher.

    If the database is away, what is in memory is searched and a warning says so.

    Raises:
        NotPermitted: If the caller lacks the scope.
        QueryError: If the query contains no words.
    """
    require_scope(caller, SEARCH)
    started = time.perf_counter()
    catalogue = effects.catalogue()
    visibility = Visibility(catalogue=catalogue, caller=caller)
    context, context_warnings = lookup.find_named_tools(
        visibility, request.context_tools, argument="context_tools"
    )
    filter_warnings = lookup.warn_unknown_filters(
        visibility, server=request.server, category=request.category
    )
    found = await lookup.search_with_fallback(effects, catalogue, caller, request, context)
    found = await _offer_each_step(effects, caller, request, found)
    budget_tokens = min(request.token_budget or effects.token_budget, effects.token_budget)
    answer_context = AnswerContext(
        visibility=visibility,
        topology=await lookup.load_topology(effects, visibility),
        usage=effects.usage(caller.owner),
        metrics=effects.metrics(),
        in_use=context.tools,
        server=request.server,
        category=request.category,
        detail=request.detail,
        describe_trouble=partial(effects.describe_trouble, caller),
    )
    arranged = await run_in_worker_thread(
        _arrange_answer,
        request,
        found,
        answer_context,
        count=arrange.make_token_counter(effects.count_tokens),
        budget_tokens=budget_tokens,
        warnings=(*filter_warnings, *context_warnings),
    )
    hits = {hit.tool_pk: hit.score for hit in found.hits}
    effects.memory.record_search(
        caller, request.query, context=work_context.describe_search(visibility, hits), hits=hits
    )
    matches = sum(card.role == "match" for card in arranged.cards)
    log.info(
        "search.answered",
        found=matches,
        added=len(arranged.cards) - matches,
        depth=arranged.depth,
        ms=round((time.perf_counter() - started) * 1_000, 1),
    )
    return SearchResult(
        tools=arranged.cards,
        run_order=arranged.run_order,
        tokens_used=arranged.tokens,
        tokens_budget=budget_tokens,
        omitted_count=arranged.omitted_count,
        tokens_listing_all=arrange.count_listing_tokens(catalogue, caller),
        warnings=arranged.warnings,
        instructions=share_instructions(catalogue, caller, [card.tool for card in arranged.cards])
        if request.detail == "full"
        else {},
    )


async def describe_tool(effects: Effects, caller: Caller, tool_id: str) -> ToolDescription:
    """Return the full definition of a visible tool, usable or not.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownTool: If no such tool is visible; lists similar ids.
    """
    require_scope(caller, SEARCH)
    catalogue = effects.catalogue()
    tool = catalogue.find_tool(tool_id, caller)
    visibility = Visibility(catalogue=catalogue, caller=caller)
    topology = await lookup.load_topology(effects, visibility)
    remarks = enhance.collect_remarks(
        topology, tool.pk, rules=EnhancementRules(is_usable=visibility.is_usable)
    )
    alternatives = list_alternatives(
        tool,
        topology,
        visibility,
        describe_trouble=partial(effects.describe_trouble, caller),
    )
    server = catalogue.servers[tool.server]
    if caller.group is not None and caller.group not in server.whole_groups:
        server = replace(server, description="")  # it may speak of all the server's tools
    return ToolDescription(
        tool=tool,
        server=server,
        trouble=effects.describe_trouble(caller, tool.server),
        warnings=relation_rows.list_warnings(remarks, visibility),
        relations=tuple(relation_rows.relation_rows(tool, topology, visibility)),
        alternatives=alternatives[: lookup.MAX_LISTED],
        instructions=share_instructions(catalogue, caller, [tool.tool]).get(tool.server, ""),
    )


async def handle_intent(
    effects: IntentEffects, caller: Caller, request: IntentRequest
) -> IntentAnswer:
    """Suggest a workflow with bound arguments for an intent; run it at once if it is sure enough.

    If tools cannot be ranked, the answer is a draft from words alone, and a warning says why.

    Raises:
        NotPermitted: If the caller lacks the scope.
        QueryError: If the intent contains no words.
        graph.suggestion.binding.parameters.ParameterError: If a parameter has the wrong type or
            is nested too deeply.
    """
    require_scope(caller, SEARCH)
    visibility = Visibility(catalogue=effects.catalogue(), caller=caller)
    rank = await effects.load_ranker(caller.owner, visibility.collect_group_tools())
    view = await _freeze_view(effects, visibility, rank)
    try:
        async with asyncio.timeout(lookup.SEARCH_TIMEOUT_S):
            answer = await run_in_worker_thread(suggest.suggest_for_request, view, request)
    except TimeoutError:
        reason = f"no answer within {lookup.SEARCH_TIMEOUT_S:g} s"
        unranked = replace(view, rank=refuse_to_rank(reason))
        answer = await run_in_worker_thread(suggest.suggest_for_request, unranked, request)
    context = effects.memory.compute_context_key(answer.context)
    answer = suggest.weigh_outcomes(answer, effects.recall(caller.owner, context))
    suggestion, is_ranked = answer.suggestion, answer.is_ranked
    threshold = effects.find_threshold(caller.owner, context)
    names = [task.tool.tool for task in suggestion.tasks]
    answer = replace(
        answer,
        speculation_id=uuid.uuid4().hex,
        mode=mode.choose_mode(suggestion.confidence, is_ranked=is_ranked),
        threshold=threshold.required_confidence,
        would_speculate=is_ranked and threshold.admits(suggestion.confidence),
        instructions=share_instructions(visibility.catalogue, caller, names),
    )
    if answer.would_speculate and request.mode == "auto":
        answer = await run_answer_ahead(effects, caller, answer)
    elif request.mode == "suggest" and answer.suggestion.tasks:
        answer = await run_answer_ahead(effects, caller, answer, only_judges=True)
    if not (answer.ahead.is_whole or answer.ahead.reasons):
        confidence = suggestion.confidence if is_ranked else None
        not_considered = explain_not_considered(
            confidence, threshold.required_confidence, is_empty=not suggestion.tasks
        )
        answer = replace(answer, ahead=not_considered)
    sinks.record_intent(
        effects, caller, request, answer, context=context, threshold=threshold.value
    )
    log.info("intent.suggested", **answer.log_fields)
    return answer


async def give_feedback(effects: Effects, caller: Caller, request: FeedbackRequest) -> Feedback:
    """Record what a client says of a suggestion; it counts once.

    Raises:
        NotPermitted: If the caller lacks the scope.
        UnknownSpeculation: If the caller has no such suggestion.
        FeedbackGiven: If another verdict was given before.
        SpeculationResolved: If it was resolved by what the caller did.
        InvalidWorkflow: If the workflow is malformed.
        UnknownTool: If the workflow names a tool that the caller does not see.
        RunsUnavailable: If the database is away.
    """
    require_scope(caller, SEARCH)
    speculation = feedback.parse_speculation_id(request.speculation)
    catalogue = effects.catalogue()
    stated = await run_in_worker_thread(
        feedback.find_stated_tasks, request, caller=caller, catalogue=catalogue
    )
    given = await effects.predictions.give_feedback(
        caller, speculation, request.verdict, stated=stated
    )
    if request.verdict is not Verdict.ACCEPT:
        effects.speculation.discard_prediction(speculation)
    return given


async def call_tool(
    effects: Effects,
    caller: Caller,
    request: UpstreamRequest,
    *,
    user_channel: UserChannel = direct_call.NO_USER,
    is_fresh: bool = False,
    patience: Patience | None = None,
) -> CallOutcome:
    """Call an upstream tool; raises what `execution.call.call` raises.

    A call made ahead may answer it, unless the caller wants a new answer. Arguments in a wrong
    form are converted, or passed on if the server may judge them, as `CallOutcome.converted` says.

    A call that needs approval becomes a run of its own; see `direct_call.conclude_call`. So does
    one that outlasts its client's patience; see `continued_call.call_with_patience`.
    """
    catalogue = effects.catalogue()
    request, converted, is_validated = convert_request(request, caller=caller, catalogue=catalogue)
    make_call = partial(
        call.call,
        caller=caller,
        catalogue=catalogue,
        upstream=effects.upstream,
        latest=effects.catalogue,
        on_ended=partial(sinks.record_call, effects),
        answer=partial(effects.speculation.answer, is_fresh=is_fresh),
        passes_misfits=True,
        is_validated=is_validated,
    )
    try:
        if patience is None:
            outcome = await make_call(request)
        else:
            outcome = await call_with_patience(
                effects, caller, request, catalogue, make_call=make_call, patience=patience
            )
    except ApprovalRequired:
        outcome = await direct_call.conclude_call(
            effects, caller, request, user_channel=user_channel, patience=patience
        )
    else:
        sinks.record_result(effects, catalogue.tools[outcome.tool], caller, outcome.result)
    return replace(outcome, converted=converted) if converted else outcome


async def run_workflow(
    effects: Effects, caller: Caller, request: RunRequest, *, watch: WatchRun = watch_nothing
) -> Plan | RunView:
    """Run a workflow and return its state once it is at rest or the wait is over.

    The run continues even if this call is cancelled. A dry run returns the plan, with all
    problems found.

    Args:
        effects: Catalogue and runs.
        caller: Whose run it is.
        request: The workflow and its options.
        watch: Entered while waiting for the run.

    Raises:
        CallNotPermitted: If the caller may not call tools.
        InvalidWorkflow: If the workflow is malformed; lists every problem.
        WorkflowNotRunnable: If it is well-formed, but this caller cannot run it with these tools.
        IdempotencyConflict: If the key was used for another request.
        UnknownSpeculation: If the id of the suggestion it comes from is malformed.
        RunsUnavailable: If the database is away.
    """
    _require_call_scope(caller)
    if request.from_speculation is not None:
        feedback.parse_speculation_id(request.from_speculation)
    planned = await run_in_worker_thread(
        run_plan.plan_request, request, caller=caller, catalogue=effects.catalogue()
    )
    if request.dry_run:
        return planned
    if planned.problems:
        raise WorkflowNotRunnable(planned.problems)
    started = await effects.runs.start(
        caller,
        planned,
        intent=request.intent,
        idempotency_key=request.idempotency_key,
        shares_results=request.from_speculation is not None,
        is_followed=watch is not watch_nothing,
    )
    if started.is_new:
        sinks.record_run(effects, caller, request, planned, run=started.run)
    view = await _wait_for_view(effects, caller, started.run, wait_s=request.wait_s, watch=watch)
    return replace(view, converted=planned.converted)


async def get_run(
    effects: Effects,
    caller: Caller,
    run: str,
    *,
    wait_s: float = 0.0,
    watch: WatchRun = watch_nothing,
    results: bool = True,
) -> RunView:
    """Return a run's state once it is at rest or the wait is over.

    Reading has no side effects: the outcome of a direct call is still delivered to the next
    identical call.

    Without `results` no payloads are read, and nothing is waited for.

    Raises:
        CallNotPermitted: If the caller may not call tools.
        UnknownRun: If the caller has no such run.
        RunsUnavailable: If the database is away.
    """
    _require_call_scope(caller)
    known = parse_run_id(run)
    if not results:
        return await effects.runs.load_view(caller, known, results=False)
    return await _wait_for_view(effects, caller, known, wait_s=wait_s, watch=watch)


async def control_run(
    effects: Effects,
    caller: Caller,
    request: ControlRequest,
    *,
    watch: WatchRun = watch_nothing,
) -> RunView:
    """Apply an action to a run and return its state afterwards; only people decide approvals.

    Raises:
        CallNotPermitted: If the caller may not call tools.
        UnknownRun: If the caller has no such run.
        ActionNotPossible: If the run's state does not allow the action.
        InvalidWorkflow: If the new workflow is malformed or changes tasks that have begun.
        WorkflowNotRunnable: If this caller cannot run the new workflow with these tools.
        RunsUnavailable: If the database is away.
    """
    _require_call_scope(caller)
    run = parse_run_id(request.run)
    action, merged = Action(request.action), None
    if action is Action.REPLAN:
        current = await effects.runs.load_view(caller, run, results=False, workflow=True)
        merged = await run_in_worker_thread(
            run_plan.plan_replan,
            current,
            request.workflow,
            caller=caller,
            catalogue=effects.catalogue(),
        )
    await effects.runs.control(
        caller, run, action, workflow=merged.replacement if merged else None
    )
    if action in _AGENT_DECISIONS:
        effects.memory.record_agent_decision(caller, run, action.value)
    view = await _wait_for_view(effects, caller, run, wait_s=request.wait_s, watch=watch)
    return replace(view, replanned=merged.effects) if merged else view


async def _wait_for_view(
    effects: Effects, caller: Caller, run: UUID, *, wait_s: float, watch: WatchRun
) -> RunView:
    """Return a run's state, read once: when it is at rest or the wait is over."""
    if not wait_s:
        return await effects.runs.load_view(caller, run)
    async with watch(run):
        return await effects.runs.wait(caller, run, wait_s=wait_s)


async def _offer_each_step(
    effects: Effects, caller: Caller, request: FindRequest, found: SearchAnswer
) -> SearchAnswer:
    """Put the tools of each step of a query first; what takes too long is left out."""
    try:
        async with asyncio.timeout(find_steps.TIMEOUT_S):
            if not await run_in_worker_thread(find_steps.may_have_steps, request):
                return found
            visibility = Visibility(catalogue=effects.catalogue(), caller=caller)
            rank = effects.find_ranker(caller.owner, visibility.collect_group_tools())
            view = await _freeze_view(effects, visibility, rank)
            return await run_in_worker_thread(find_steps.offer_each_step, view, request, found)
    except TimeoutError:
        return found


def _require_call_scope(caller: Caller) -> None:
    if not caller.has_scope(call.SCOPE):
        raise CallNotPermitted(caller)


async def _freeze_view(
    effects: IntentEffects, visibility: Visibility, rank: RankTools
) -> SuggestionView:
    """Return all that a suggestion reads."""
    caller = visibility.caller
    troubles = {
        name: effects.describe_trouble(caller, name) for name in visibility.catalogue.servers
    }
    return SuggestionView(
        visibility=visibility,
        rank=rank,
        topology=await lookup.load_topology(effects, visibility),
        metrics=effects.metrics(),
        troubles={name: trouble for name, trouble in troubles.items() if trouble},
        calibration=effects.find_calibration(caller.owner),
    )


def _arrange_answer(
    request: FindRequest,
    found: SearchAnswer,
    context: AnswerContext,
    *,
    count: arrange.TokenCounter,
    budget_tokens: int,
    warnings: Sequence[str],
) -> arrange.ArrangedAnswer:
    """Arrange the hits of a search, with all warnings about it; CPU-bound."""
    quarantine_warnings = lookup.warn_waiting_matches(
        context.visibility.catalogue, context.visibility.caller, request, found.hits
    )
    return arrange.arrange_answer(
        found.hits,
        context,
        count=count,
        budget_tokens=budget_tokens,
        warnings=(*warnings, *quarantine_warnings, *found.warnings),
    )
