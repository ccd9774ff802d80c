"""Run a suggested workflow ahead of the request for it, or say why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from execution.argument_provenance import UNKNOWN, Provenance, ProvenanceKind
from execution.early_calls import SpeculationRefused
from execution.mode import SuggestionMode
from execution.planning import parse, plan
from execution.planning.parse import InvalidWorkflow
from execution.speculation.early_results import is_keepable
from execution.speculation.workflow import (
    MS_PER_S,
    AheadDependencies,
    TaskProvenance,
    find_obstacles,
    run_workflow_ahead,
)
from execution.speculation_rules import (
    ReasonCode,
    make_reason,
)
from execution.workflow import OnError, RunOptions
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.intent.ahead_outcome import AheadOutcome

if TYPE_CHECKING:
    from execution.planning.plan import Plan
    from gateway_project.effects import IntentEffects
    from gateway_project.foundation.caller import Caller
    from gateway_project.intent.answer import IntentAnswer
    from graph.suggestion.workflow.types import Suggestion
    from tools.catalogue import Catalogue

OPTIONS: Final = RunOptions(on_error=OnError.CONTINUE)
"""What succeeds comes along, whatever became of the rest."""
_KINDS: Final = {
    "user": ProvenanceKind.STATED,
    "literal": ProvenanceKind.STATED,
    "default": ProvenanceKind.CONSTANT,
    "learned": ProvenanceKind.MEMORY,
}
"""Origins by `BindingSource`; references are traced when they are resolved."""


async def run_answer_ahead(
    effects: IntentEffects, caller: Caller, answer: IntentAnswer
) -> IntentAnswer:
    """Run a suggestion ahead, if all of it may be; return the answer with what became of it.

    Args:
        effects: Calls made ahead, and the rules for them.
        caller: Whom it is for.
        answer: With the suggestion.
    """
    ahead = await _run_ahead(effects, caller, answer, is_run=True)
    if ahead.run is None:
        return replace(answer, ahead=ahead)
    return replace(answer, ahead=ahead, mode=SuggestionMode.SPECULATIVE_EXECUTION)


async def judge_answer_ahead(
    effects: IntentEffects, caller: Caller, answer: IntentAnswer
) -> IntentAnswer:
    """Return the answer with why it may not run ahead; runs nothing. See `run_answer_ahead`."""
    return replace(answer, ahead=await _run_ahead(effects, caller, answer, is_run=False))


async def _run_ahead(
    effects: IntentEffects, caller: Caller, answer: IntentAnswer, *, is_run: bool
) -> AheadOutcome:
    if answer.suggestion.needs_input:
        message = "Required arguments are missing; needs_input names them."
        return AheadOutcome(reasons=(make_reason(ReasonCode.NEEDS_INPUT, message),))
    try:
        planned = await run_in_worker_thread(
            _plan, answer.workflow, caller, effects.rules().catalogue
        )
        dependencies = AheadDependencies(
            speculation=effects.speculation,
            rules=effects.rules,
            wait_s=effects.speculation_wait_s,
        )
        provenance = trace_arguments(answer.suggestion)
        expected_s = _estimate_durations(effects, caller, answer)
        if not is_run:
            obstacles = await find_obstacles(
                planned,
                caller=caller,
                dependencies=dependencies,
                provenance=provenance,
                expected_s=expected_s,
            )
            return AheadOutcome(reasons=obstacles)
        run = await run_workflow_ahead(
            planned,
            caller=caller,
            prediction=UUID(answer.speculation_id),
            dependencies=dependencies,
            provenance=provenance,
            expected_s=expected_s,
        )
    except InvalidWorkflow as error:
        return AheadOutcome(reasons=(make_reason(ReasonCode.INVALID_ARGUMENTS, f"{error}."),))
    except SpeculationRefused as refused:
        return AheadOutcome(reasons=refused.reasons, attempt=refused.attempt)
    if not is_keepable({"results": list(run.raw_results.values())}):
        message = "Its results are too large to come with the answer; run_workflow has them."
        reasons = (make_reason(ReasonCode.UNUSABLE_RESULT, message),)
        return AheadOutcome(reasons=reasons, attempt=run)
    is_whole = not run.reasons
    return AheadOutcome(
        run=run if is_whole else None, attempt=None if is_whole else run, reasons=run.reasons
    )


def _estimate_durations(
    effects: IntentEffects, caller: Caller, answer: IntentAnswer
) -> dict[str, float]:
    """Return the 95th percentile in seconds by canonical id, of tools of which it is known."""
    known = {
        task.name: effects.estimate_p95_ms(caller.owner, task.tool)
        for task in answer.suggestion.tasks
    }
    return {tool: ms / MS_PER_S for tool, ms in known.items() if ms is not None}


def trace_arguments(suggestion: Suggestion) -> TaskProvenance:
    """Return where each bound argument comes from, by task and JSON pointer."""
    return {
        task: {binding.pointer: _trace(binding.source.value) for binding in bindings}
        for task, bindings in suggestion.bindings.items()
    }


def _trace(source: str) -> Provenance:
    kind = _KINDS.get(source)
    return UNKNOWN if kind is None else Provenance(kind=kind)


def _plan(workflow: Mapping[str, Any], caller: Caller, catalogue: Catalogue) -> Plan:
    """Plan a workflow; CPU-bound."""
    return plan.plan_workflow(parse.parse(workflow), OPTIONS, caller=caller, catalogue=catalogue)
