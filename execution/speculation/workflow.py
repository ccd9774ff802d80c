"""Run a whole suggested workflow ahead of the request for it, in memory.

The executor is that of runs, with a journal that keeps nothing: a speculation that dies with its
process leaves no row behind. Each call is made by `Speculation.make`, so it is judged again with
its final arguments, and its result also answers later requests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from execution import call as calls
from execution.admissibility import ProposedCall, estimate_ends_s, judge_workflow
from execution.argument_provenance import UNKNOWN, Provenance, ProvenanceKind
from execution.call_outcome import SpeculationForm
from execution.changes import WHOLE_TASK, RunChanges, TaskKey
from execution.early_calls import EarlyCall, Speculation, SpeculationRefused
from execution.early_run import EarlyRun, EarlyTask
from execution.running.dependencies import ExecutorDependencies, Invocation
from execution.running.executor import Execution
from execution.running.limits import CallSlots
from execution.snapshot import RunSnapshot
from execution.speculation_rules import AdmissibilityReason, ReasonCode, make_reason
from execution.status import RunStatus, TaskStatus
from gateway_project.foundation.references import iterate_marks, parse_reference
from tools.upstream.request import UpstreamRequest

if TYPE_CHECKING:
    from execution.call import CallOutcome, PreparedCall
    from execution.planning.plan import Plan
    from execution.running.results import ResultRoot
    from execution.speculation_rules import AdmissibilityRules
    from execution.workflow import WorkflowTask
    from gateway_project.foundation.caller import Caller

MS_PER_S: Final = 1_000.0

TaskProvenance = Mapping[str, Mapping[str, Provenance]]
"""By task, where the values of its arguments come from, by JSON pointer into them."""


@dataclass(frozen=True, kw_only=True)
class AheadDependencies:
    """The collaborators of running a workflow ahead.

    Attributes:
        speculation: Makes the calls.
        rules: Returns catalogue and grants in force.
        wait_s: Seconds that an answer waits for its results.
        slots: Calls at once: at one server, and in total.
    """

    speculation: Speculation
    rules: Callable[[], AdmissibilityRules]
    wait_s: float = 0.3
    slots: tuple[int, int] = (4, 16)


@dataclass
class _Journal:
    """Keeps which tasks succeeded, lists with all their items."""

    succeeded: set[str] = field(default_factory=set)

    async def record(self, changes: RunChanges) -> None:
        """See `Journal`."""
        self.succeeded |= {
            change.task
            for change in changes.tasks
            if change.item == WHOLE_TASK and change.status is TaskStatus.SUCCEEDED
        }


@dataclass
class _Calls:
    """The calls of one workflow, and the first reason why one was not made."""

    plan: Plan
    caller: Caller
    prediction: UUID
    dependencies: AheadDependencies
    provenance: TaskProvenance
    slow: frozenset[str]
    """Tasks that are known to end too late to be waited for."""
    journal: _Journal = field(default_factory=_Journal)
    made: dict[TaskKey, CallOutcome] = field(default_factory=dict)
    calls: list[EarlyTask] = field(default_factory=list)
    started_at: float = field(default_factory=time.monotonic)
    refusal: tuple[AdmissibilityReason, ...] = ()
    was_sent: bool = False

    async def invoke(self, invocation: Invocation) -> CallOutcome:
        """Make one call."""
        task = self.plan.workflow.by_id[invocation.task]
        early = EarlyCall(
            prediction=self.prediction,
            form=SpeculationForm.INTENT,
            call=ProposedCall(
                tool=invocation.tool,
                arguments=invocation.arguments,
                provenance=self._trace(task),
            ),
        )
        started_s = time.monotonic() - self.started_at
        try:
            outcome = await self.dependencies.speculation.make(
                self.caller, early, waits=task.id not in self.slow
            )
        except SpeculationRefused as refused:
            self.refusal = self.refusal or _name_task(refused.reasons, task.id)
            self.was_sent |= refused.was_sent
            if refused.was_sent:
                self._note(invocation, started_s, "no usable answer")
            raise
        except asyncio.CancelledError:
            self._note(invocation, started_s, "not answered in time")
            raise
        except Exception:
            self._note(invocation, started_s, "failed")
            raise
        self.made[invocation.task, invocation.item] = outcome
        self._note(invocation, started_s, "", took_s=outcome.duration_s)
        return outcome

    def _note(
        self, invocation: Invocation, started_s: float, trouble: str, took_s: float | None = None
    ) -> None:
        ended_s = time.monotonic() - self.started_at
        self.calls.append(
            EarlyTask(
                task=invocation.task,
                tool=invocation.tool,
                arguments=invocation.arguments,
                started_s=started_s,
                duration_ms=MS_PER_S * (ended_s - started_s if took_s is None else took_s),
                trouble=trouble,
            )
        )

    def prepare(self, tool: str, arguments: Mapping[str, Any]) -> PreparedCall:
        """Check a call."""
        return calls.prepare(
            UpstreamRequest.to_call(tool, arguments),
            caller=self.caller,
            catalogue=self.dependencies.rules().catalogue,
            digest=lambda _value: "",  # of approvals, of which there are none
        )

    def _trace(self, task: WorkflowTask) -> Mapping[str, Provenance]:
        """Return where the values of a call come from once its references are resolved."""
        servers = {one.id: one.tool.partition(":")[0] for one in self.plan.workflow.tasks}
        listed = task.for_each.task if task.for_each is not None else ""
        traced = dict(self.provenance.get(task.id, {}))
        for pointer, mark in iterate_marks(task.arguments):
            target = parse_reference(mark)
            server = servers.get(listed if target is None else target.task)
            traced[pointer] = (
                UNKNOWN
                if server is None
                else Provenance(kind=ProvenanceKind.RESULT, server=server)
            )
        return traced


async def find_obstacles(
    plan: Plan,
    *,
    caller: Caller,
    dependencies: AheadDependencies,
    provenance: TaskProvenance,
    expected_s: Mapping[str, float],
) -> tuple[AdmissibilityReason, ...]:
    """Return why a workflow may not run ahead now; takes what `run_workflow_ahead` takes."""
    await dependencies.speculation.confirm()
    verdict = judge_workflow(
        plan,
        caller=caller,
        rules=dependencies.rules(),
        provenance=provenance,
        expected_s=expected_s,
    )
    return (*dependencies.speculation.list_obstacles(), *verdict.reasons)


async def run_workflow_ahead(
    plan: Plan,
    *,
    caller: Caller,
    prediction: UUID,
    dependencies: AheadDependencies,
    provenance: TaskProvenance,
    expected_s: Mapping[str, float],
) -> EarlyRun:
    """Run a workflow ahead, if all of it is admissible, as far as an answer waits for it.

    Calls in flight when the time is over go on, so that they may answer later requests. What is
    known to take longer is called, and not waited for.

    Args:
        plan: As planned for this caller.
        caller: Whom it is for.
        prediction: Id of the suggestion.
        dependencies: Collaborators.
        provenance: Where arguments come from.
        expected_s: 95th percentile of the duration by canonical id, of tools of which it is
            known; the latest duration in this process, if there is one, takes its place.

    Raises:
        SpeculationRefused: If it may not run ahead, or nothing of it succeeded in time.
    """
    speculation = dependencies.speculation
    tools = {task.tool for task in plan.workflow.tasks}
    latest_s = {tool: speculation.find_latest_s(tool) for tool in tools}
    expected_s = {**expected_s, **{tool: s for tool, s in latest_s.items() if s is not None}}
    reasons = await find_obstacles(
        plan,
        caller=caller,
        dependencies=dependencies,
        provenance=provenance,
        expected_s=expected_s,
    )
    if reasons:
        raise SpeculationRefused(reasons)
    made = _Calls(
        plan=plan,
        caller=caller,
        prediction=prediction,
        dependencies=dependencies,
        provenance=provenance,
        slow=frozenset(
            task
            for task, end_s in estimate_ends_s(plan, expected_s).items()
            if end_s > dependencies.wait_s
        ),
    )
    try:
        async with asyncio.timeout(dependencies.wait_s):
            status = await _make_execution(made).run()
        reasons = made.refusal or (_explain_failure(),)
    except TimeoutError:
        status, reasons = RunStatus.RUNNING, (_explain_timeout(dependencies.wait_s),)
    if status is RunStatus.SUCCEEDED:
        return _collect(made, ())
    run = _collect(made, reasons)
    if made.journal.succeeded:
        return run
    was_called = bool(run.tasks) or made.was_sent or not made.refusal
    raise SpeculationRefused(reasons, attempt=run if was_called else None)


def _make_execution(made: _Calls) -> Execution:
    per_server, total = made.dependencies.slots
    return Execution(
        RunSnapshot(
            run=made.prediction,
            caller=made.caller,
            epoch=0,
            last_seq=0,
            workflow=made.plan.workflow,
            options=made.plan.options,
        ),
        ExecutorDependencies(
            prepare=made.prepare,
            invoke=made.invoke,
            journal=made.journal,
            call_slots=CallSlots(total=total, per_server=per_server),
            clock=lambda: datetime.now(UTC),
            reload_results=_reload_nothing,
        ),
    )


async def _reload_nothing(_tasks: Collection[str]) -> Mapping[TaskKey, ResultRoot]:
    return {}


def _collect(made: _Calls, reasons: tuple[AdmissibilityReason, ...]) -> EarlyRun:
    """Return what succeeded."""
    succeeded = made.journal.succeeded
    raw: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
    for (task, item), outcome in made.made.items():
        if task in succeeded:
            raw.setdefault(task, []).append((item, outcome.result.raw))
    tasks = made.plan.workflow.tasks
    lists = {task.id for task in tasks if task.for_each is not None} & succeeded
    results = {
        task: tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))
        for task, found in raw.items()
    }
    return EarlyRun(
        raw_results={**dict.fromkeys(lists, ()), **results},
        lists=frozenset(lists),
        tasks=tuple(made.calls),
        took_s=time.monotonic() - made.started_at,
        reasons=reasons,
    )


def _name_task(
    reasons: tuple[AdmissibilityReason, ...], task: str
) -> tuple[AdmissibilityReason, ...]:
    return tuple(replace(reason, task=reason.task or task) for reason in reasons)


def _explain_timeout(wait_s: float) -> AdmissibilityReason:
    message = (
        f"It took longer than the {wait_s:g} s that an answer waits; what is in flight goes on, "
        "and the same calls get its results."
    )
    return make_reason(ReasonCode.TOO_SLOW, message)


def _explain_failure() -> AdmissibilityReason:
    return make_reason(ReasonCode.CALL_FAILED, "A call of the workflow failed.")
