"""Run a suggested workflow ahead of the request for it, or say why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from execution.argument_provenance import UNKNOWN, Provenance, ProvenanceKind
from execution.early_calls import SpeculationRefused
from execution.planning import parse, plan
from execution.planning.parse import InvalidWorkflow
from execution.speculation.early_results import is_keepable
from execution.speculation.workflow import (
    MS_PER_S,
    AheadDependencies,
    EarlyRun,
    TaskProvenance,
    run_workflow_ahead,
)
from execution.speculation_rules import (
    AdmissibilityReason,
    AdmissibilityRules,
    ReasonCode,
    make_reason,
)
from execution.workflow import RunOptions
from gateway_project.foundation.computing import run_in_worker_thread
from gateway_project.runs.task_results import TaskResults
from tools.upstream.downstream import NO_CLIENT, Downstream

if TYPE_CHECKING:
    from execution.early_calls import Speculation
    from execution.planning.plan import Plan
    from gateway_project.foundation.caller import Caller
    from graph.suggestion.workflow.types import Suggestion
    from tools.catalogue import Catalogue

MAX_REASONS: Final = 5
"""Reasons that an answer names."""
_KINDS: Final = {
    "user": ProvenanceKind.STATED,
    "literal": ProvenanceKind.STATED,
    "default": ProvenanceKind.CONSTANT,
    "learned": ProvenanceKind.MEMORY,
}
"""Origins by `BindingSource`; references are traced when they are resolved."""


@dataclass(frozen=True, kw_only=True)
class RanAhead:
    """What became of running a suggestion ahead.

    Attributes:
        run: The run with its results; None: it was not run ahead.
        reasons: Why not; empty if it was, and if it was not sure enough to be considered.
    """

    run: EarlyRun | None = None
    reasons: tuple[AdmissibilityReason, ...] = ()

    @property
    def fallback_code(self) -> str:
        """Code of the first reason; empty: there is none."""
        return self.reasons[0].code.value if self.reasons else ""

    @property
    def fallback_reason(self) -> str:
        """The reasons in words, each once; empty: there is none."""
        messages = list(dict.fromkeys(reason.message for reason in self.reasons))
        more = len(messages) - MAX_REASONS
        return " ".join([*messages[:MAX_REASONS], *([f"And {more} more."] if more > 0 else [])])

    def results_to_json(self) -> dict[str, Any]:
        """Return `results` and `contents` as run_workflow does; empty if it was not run ahead."""
        if self.run is None:
            return {}
        found = [
            TaskResults(task=task, raw_results=raw, is_list=task in self.run.lists, size_bytes=0)
            for task, raw in self.run.raw_results.items()
        ]
        age_ms = round(MS_PER_S * self.run.took_s)
        contents = {one.task: blocks for one in found if (blocks := one.extra_blocks)}
        return {
            "results": {one.task: one.value for one in found},
            "results_age_ms": age_ms,
        } | ({"contents": contents} if contents else {})


NOT_CONSIDERED: Final = RanAhead()


async def run_ahead(  # noqa: PLR0913 - the suggestion, whose it is, and how it is run
    suggestion: Suggestion,
    workflow: Mapping[str, Any],
    *,
    caller: Caller,
    prediction: UUID,
    speculation: Speculation,
    rules: Callable[[], AdmissibilityRules],
    downstream: Downstream = NO_CLIENT,
) -> RanAhead:
    """Run a suggestion ahead, all of it or nothing.

    Args:
        suggestion: What was suggested.
        workflow: The same as run_workflow takes it.
        caller: Whom it is for.
        prediction: Id of the suggestion.
        speculation: Makes the calls.
        rules: Returns catalogue and grants in force.
        downstream: Identifies the caller to servers that keep state.
    """
    if suggestion.needs_input:
        message = "Required arguments are missing; needs_input names them."
        return RanAhead(reasons=(make_reason(ReasonCode.NEEDS_INPUT, message),))
    try:
        planned = await run_in_worker_thread(_plan, workflow, caller, rules().catalogue)
        run = await run_workflow_ahead(
            planned,
            caller=caller,
            prediction=prediction,
            dependencies=AheadDependencies(speculation=speculation, rules=rules),
            provenance=trace_arguments(suggestion),
            expected_s={},
            downstream=downstream,
        )
    except InvalidWorkflow as error:
        return RanAhead(reasons=(make_reason(ReasonCode.INVALID_ARGUMENTS, f"{error}."),))
    except SpeculationRefused as refused:
        return RanAhead(reasons=refused.reasons)
    if not is_keepable({"results": list(run.raw_results.values())}):
        message = "Its results are too large to come with the answer; run_workflow has them."
        return RanAhead(reasons=(make_reason(ReasonCode.UNUSABLE_RESULT, message),))
    return RanAhead(run=run)


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
    return plan.plan_workflow(
        parse.parse(workflow), RunOptions(), caller=caller, catalogue=catalogue
    )
