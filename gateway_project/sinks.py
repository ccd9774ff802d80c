"""Where what callers do goes, beside its result: the memory, and the predictions it resolves."""

from __future__ import annotations

import time
from dataclasses import replace
from uuid import UUID

from execution.call import EndedCall
from execution.planning.plan import Plan
from gateway_project.effects import Effects, IntentEffects
from gateway_project.foundation.caller import Caller
from gateway_project.intent import feedback
from gateway_project.intent.answer import IntentAnswer, IntentRequest
from gateway_project.runs.request import RunRequest
from learning.memory.context import ContextKey
from learning.predictions.open_intents import AheadRecord, PredictedIntent, find_telling_values
from learning.sessions.memory import AnsweredIntent
from learning.suggested_episodes import build_run_episode
from tools.catalogue import CatalogueTool
from tools.upstream.result import UpstreamResult


def record_intent(
    effects: IntentEffects,
    caller: Caller,
    request: IntentRequest,
    answer: IntentAnswer,
    *,
    context: ContextKey,
    threshold: float,
) -> None:
    """Record an answered intent, and predict that its caller will run the workflow."""
    speculation = UUID(answer.speculation_id)
    confidence, tasks = answer.suggestion.confidence, answer.workflow.tasks
    effects.memory.record_intent(
        caller,
        AnsweredIntent(
            text=request.intent,
            context=context,
            prediction=speculation,
            mode=answer.mode.value,
            confidence=confidence,
            tools=tuple(task.pk for task in tasks),
            found=answer.likely_tools,
            planned=answer.planned_calls,
        ),
    )
    effects.predictions.note_intent(
        PredictedIntent(
            id=speculation,
            caller=caller.session_key,
            intent=request.intent,
            tasks=tasks,
            confidence=confidence,
            ranked_confidence=answer.ranked_confidence,
            threshold=threshold,
            is_admitted=answer.would_speculate,
            is_runnable=answer.is_runnable,
            context=context,
            at=time.time(),
            ran=_describe_run(answer, intent=request.intent),
        )
    )


def _describe_run(answer: IntentAnswer, *, intent: str) -> AheadRecord:
    """Return what is recorded of a suggestion that was run ahead, or why it was not."""
    run = answer.ahead
    if not run.tasks:
        return AheadRecord(fallback=run.fallback_code)
    record = AheadRecord(run=run, fallback=run.fallback_code)
    if not run.is_whole:
        return record
    stated = find_telling_values([intent, *(task.arguments for task in run.tasks)])
    return replace(
        record,
        values=find_telling_values(list(run.raw_results.values())) - stated,
        episode=build_run_episode(intent, answer.workflow.tasks, run, at=time.time()),
    )


def record_call(effects: Effects, ended: EndedCall) -> None:
    """Record a direct call that ended."""
    effects.memory.record_call(ended)
    effects.predictions.note_call(ended)


def record_run(
    effects: Effects,
    caller: Caller,
    request: RunRequest,
    planned: Plan,
    *,
    run: UUID,
) -> None:
    """Record that a caller started a run, and which suggestion it confirms or contradicts."""
    effects.memory.record_run(caller, run)
    source = request.from_speculation
    effects.predictions.note_run(
        caller,
        run,
        tasks=planned.workflow.tasks,
        intent=request.intent,
        speculation=None if source is None else feedback.parse_speculation_id(source),
    )


def record_result(
    effects: Effects, tool: CatalogueTool, caller: Caller, result: UpstreamResult
) -> None:
    """Count a finished call and learn from its result; a request for input is not a result."""
    if result.is_interim or caller.owner is None:
        return
    effects.count_call(tool.pk, caller.contributor, result.is_error)
    if not result.is_error:
        effects.observe_result(tool, caller.owner, result.raw)
