"""Run a suggested workflow ahead of the request for it, or say why not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from execution.mode import SuggestionMode
from execution.planning import plan
from execution.speculation.calls import SpeculativeRun
from execution.speculation.provenance import UNKNOWN, Provenance, ProvenanceKind
from execution.speculation.results import is_keepable
from execution.speculation.rules import ReasonCode, make_reason
from execution.speculation.workflow import MS_PER_S, TaskProvenance, WorkflowAhead
from execution.workflow import OnError, RunOptions
from gateway_project.foundation import canonical
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.foundation.rounding import round_apart

if TYPE_CHECKING:
    from gateway_project.effects import IntentEffects
    from gateway_project.foundation.caller import Caller
    from gateway_project.intent.answer import IntentAnswer
    from graph.suggestion.workflow.types import Suggestion

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
    effects: IntentEffects, caller: Caller, answer: IntentAnswer, *, only_judges: bool = False
) -> IntentAnswer:
    """Run a suggestion ahead, if all of it may be; return the answer with what became of it.

    Args:
        effects: Calls made ahead, and the rules for them.
        caller: Whom it is for.
        answer: With the suggestion.
        only_judges: Whether to run nothing, and say why it may not be run.
    """
    ahead = await _run_ahead(effects, caller, answer, only_judges=only_judges)
    if ahead.is_whole and not is_keepable({"results": list(ahead.raw_results.values())}):
        message = "Its results are too large to come with the answer; run_workflow has them."
        reasons = (make_reason(ReasonCode.UNUSABLE_RESULT, message),)
        ahead = replace(ahead, raw_results={}, reasons=reasons)
    mode = SuggestionMode.SPECULATIVE_EXECUTION if ahead.is_whole else answer.mode
    return replace(answer, ahead=ahead, mode=mode)


async def _run_ahead(
    effects: IntentEffects, caller: Caller, answer: IntentAnswer, *, only_judges: bool
) -> SpeculativeRun:
    if not answer.suggestion.is_complete:
        message = "Required arguments are missing; needs_input names them."
        return SpeculativeRun(reasons=(make_reason(ReasonCode.NEEDS_INPUT, message),))
    planned = await run_in_worker_thread(
        plan.plan_workflow,
        answer.workflow,
        OPTIONS,
        caller=caller,
        catalogue=effects.rules().catalogue,
    )
    workflow = WorkflowAhead(
        plan=planned,
        caller=caller,
        prediction=UUID(answer.speculation_id),
        speculation=effects.speculation,
        rules=effects.rules,
        provenance=trace_arguments(answer.suggestion),
        expected_s=_estimate_durations(effects, caller, answer),
        wait_s=effects.speculation_wait_s,
    )
    if only_judges:
        return SpeculativeRun(reasons=await workflow.find_obstacles())
    return await workflow.run()


def _estimate_durations(
    effects: IntentEffects, caller: Caller, answer: IntentAnswer
) -> dict[str, float]:
    """Return the 95th percentile in seconds by canonical id, of tools of which it is known."""
    known = {
        task.tool: effects.estimate_p95_ms(caller.owner, task.pk) for task in answer.workflow.tasks
    }
    return {tool: ms / MS_PER_S for tool, ms in known.items() if ms is not None}


def trace_arguments(suggestion: Suggestion) -> TaskProvenance:
    """Return where each bound argument comes from, by task and JSON pointer."""
    return {
        task.id: {
            canonical.build_pointer([name]): _trace(bound.source.value)
            for name, bound in task.bindings.items()
        }
        for task in suggestion.tasks
        if task.bindings
    }


def _trace(source: str) -> Provenance:
    kind = _KINDS.get(source)
    return UNKNOWN if kind is None else Provenance(kind=kind)


def explain_not_considered(
    confidence: float | None, threshold: float | None, *, is_empty: bool = False
) -> SpeculativeRun:
    """Return why a suggestion was not considered for running ahead.

    Args:
        confidence: Of the suggestion, in [0, 1]; None: nothing was ranked.
        threshold: Confidence from which it would be run ahead, in [0, 1]; None: suspended.
        is_empty: Whether it has no tasks.
    """
    if is_empty:
        code = ReasonCode.EMPTY_WORKFLOW
        message = "No tool fits the intent well enough, so there is nothing to run ahead."
    elif confidence is None:
        code = ReasonCode.BELOW_THRESHOLD
        message = "Nothing was ranked, and a draft is never run ahead."
    elif threshold is None:
        code = ReasonCode.SUSPENDED
        message = "Too many suggestions for this kind of work were wrong; nothing is run ahead."
    elif confidence < threshold:
        code = ReasonCode.BELOW_THRESHOLD
        told, least = round_apart(confidence, threshold, digits=2)
        message = (
            f"Its confidence of {told:g} is below the threshold for running it ahead, {least:g}."
        )
    else:
        code, message = ReasonCode.NOT_REQUESTED, "Only a suggestion was asked for."
    return SpeculativeRun(reasons=(make_reason(code, message),))
