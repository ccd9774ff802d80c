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
from execution.call_outcome import SpeculationForm
from execution.changes import WHOLE_TASK, RunChanges, TaskKey
from execution.running.dependencies import ExecutorDependencies, Invocation
from execution.running.executor import Execution
from execution.running.limits import CallSlots
from execution.snapshot import RunSnapshot
from execution.speculation.admissibility import estimate_ends_s, judge_workflow
from execution.speculation.calls import (
    Reasons,
    Speculation,
    SpeculationRefused,
    SpeculativeCall,
    SpeculativeRun,
    SpeculativeTask,
)
from execution.speculation.provenance import Provenance, trace_references
from execution.speculation.rules import AdmissibilityReason, ReasonCode, make_reason
from execution.status import RunStatus, TaskStatus
from tools.upstream.request import UpstreamRequest

if TYPE_CHECKING:
    from execution.call import CallOutcome, PreparedCall
    from execution.planning.plan import Plan
    from execution.running.results import ResultRoot
    from execution.speculation.rules import AdmissibilityRules
    from gateway_project.foundation.caller import Caller

MS_PER_S: Final = 1_000.0
CALLS_AT_ONCE: Final = 16
CALLS_PER_SERVER: Final = 4
"""Calls of a workflow in flight at once: in all, and at one server."""
TaskProvenance = Mapping[str, Mapping[str, Provenance]]
"""By task, where the values of its arguments come from, by JSON pointer into them."""


@dataclass(eq=False, kw_only=True)
class WorkflowAhead:
    """A workflow that may run ahead of the request for it, once.

    Attributes:
        plan: As planned for this caller.
        caller: Whom it is for.
        prediction: Id of the suggestion.
        speculation: Makes the calls.
        rules: Returns catalogue and grants in force.
        provenance: Where arguments come from.
        expected_s: 95th percentile of the duration by canonical id, of tools of which it is
            known; the latest duration in this process, if there is one, takes its place.
        wait_s: Seconds that an answer waits for its results.
    """

    plan: Plan
    caller: Caller
    prediction: UUID
    speculation: Speculation
    rules: Callable[[], AdmissibilityRules]
    provenance: TaskProvenance
    expected_s: Mapping[str, float]
    wait_s: float = 0.3
    _succeeded: set[str] = field(default_factory=set, init=False)
    """Tasks that succeeded, lists with all their items."""
    _made: dict[TaskKey, CallOutcome] = field(default_factory=dict, init=False)
    _calls: list[SpeculativeTask] = field(default_factory=list, init=False)
    _slow: frozenset[str] = field(default=frozenset(), init=False)
    """Tasks that are known to end too late to be waited for."""
    _started_at: float = field(default=0.0, init=False)
    _refusal: Reasons = field(default=(), init=False)
    """The first reason why a call was not made."""

    async def find_obstacles(self) -> Reasons:
        """Return why it may not run ahead now."""
        await self.speculation.confirm()
        return (
            *self.speculation.list_obstacles(),
            *judge_workflow(
                self.plan,
                caller=self.caller,
                rules=self.rules(),
                provenance=self.provenance,
                expected_s=self._estimate_durations(),
            ),
        )

    async def run(self) -> SpeculativeRun:
        """Run it if all of it is admissible, as far as an answer waits for it.

        Calls in flight when the time is over go on, so that they may answer later requests. What
        is known to take longer is called, and not waited for.
        """
        obstacles = await self.find_obstacles()
        if obstacles:
            return SpeculativeRun(reasons=obstacles)
        ends_s = estimate_ends_s(self.plan, self._estimate_durations())
        self._slow = frozenset(task for task, end_s in ends_s.items() if end_s > self.wait_s)
        self._started_at = time.monotonic()
        try:
            async with asyncio.timeout(self.wait_s):
                status = await self._make_execution().run()
            reasons = () if status is RunStatus.SUCCEEDED else self._refusal or (_FAILURE,)
        except TimeoutError:
            reasons = (_explain_timeout(self.wait_s),)
        return self._collect(reasons)

    async def record(self, changes: RunChanges) -> None:
        """Note which tasks succeeded; see `execution.changes.Journal`."""
        self._succeeded |= {
            change.task
            for change in changes.tasks
            if change.item == WHOLE_TASK and change.status is TaskStatus.SUCCEEDED
        }

    def _estimate_durations(self) -> dict[str, float]:
        tools = {task.tool for task in self.plan.workflow.tasks}
        latest_s = {tool: self.speculation.find_latest_s(tool) for tool in tools}
        return {**self.expected_s, **{tool: s for tool, s in latest_s.items() if s is not None}}

    def _make_execution(self) -> Execution:
        return Execution(
            RunSnapshot(
                run=self.prediction,
                caller=self.caller,
                epoch=0,
                last_seq=0,
                workflow=self.plan.workflow,
                options=self.plan.options,
            ),
            ExecutorDependencies(
                prepare=self._prepare,
                invoke=self._invoke,
                journal=self,
                call_slots=CallSlots(total=CALLS_AT_ONCE, per_server=CALLS_PER_SERVER),
                clock=lambda: datetime.now(UTC),
                reload_results=_reload_nothing,
            ),
        )

    def _prepare(self, tool: str, arguments: Mapping[str, Any]) -> PreparedCall:
        return calls.prepare(
            UpstreamRequest.to_call(tool, arguments),
            caller=self.caller,
            catalogue=self.rules().catalogue,
            digest=lambda _value: "",  # of approvals, of which there are none
        )

    async def _invoke(self, invocation: Invocation) -> CallOutcome:
        task = self.plan.workflow.by_id[invocation.task]
        call = SpeculativeCall(
            prediction=self.prediction,
            form=SpeculationForm.INTENT,
            tool=invocation.tool,
            arguments=invocation.arguments,
            provenance={
                **self.provenance.get(task.id, {}),
                **trace_references(task, self.plan.workflow),
            },
        )
        started_s = time.monotonic() - self._started_at
        try:
            outcome = await self.speculation.make(
                self.caller, call, waits=task.id not in self._slow
            )
        except SpeculationRefused as refused:
            self._refusal = self._refusal or tuple(
                replace(reason, task=reason.task or task.id) for reason in refused.reasons
            )
            if refused.was_sent:
                self._note(invocation, started_s, "no usable answer")
            raise
        except asyncio.CancelledError:
            self._note(invocation, started_s, "not answered in time")
            raise
        except Exception:
            self._note(invocation, started_s, "failed")
            raise
        self._made[invocation.task, invocation.item] = outcome
        self._note(invocation, started_s, "", took_s=outcome.duration_s)
        return outcome

    def _note(
        self, invocation: Invocation, started_s: float, trouble: str, took_s: float | None = None
    ) -> None:
        ended_s = time.monotonic() - self._started_at
        self._calls.append(
            SpeculativeTask(
                task=invocation.task,
                tool=invocation.tool,
                arguments=invocation.arguments,
                started_s=started_s,
                duration_ms=MS_PER_S * (ended_s - started_s if took_s is None else took_s),
                trouble=trouble,
            )
        )

    def _collect(self, reasons: Reasons) -> SpeculativeRun:
        """Return what succeeded."""
        tasks = self.plan.workflow.tasks
        lists = {task.id for task in tasks if task.for_each is not None} & self._succeeded
        raw: dict[str, dict[int, Mapping[str, Any]]] = {task: {} for task in lists}
        for (task, item), outcome in self._made.items():
            if task in self._succeeded:
                raw.setdefault(task, {})[item] = outcome.result.raw
        return SpeculativeRun(
            raw_results={
                task: tuple(found[item] for item in sorted(found)) for task, found in raw.items()
            },
            lists=frozenset(lists),
            tasks=tuple(self._calls),
            took_s=time.monotonic() - self._started_at,
            reasons=reasons,
        )


async def _reload_nothing(_tasks: Collection[str]) -> Mapping[TaskKey, ResultRoot]:
    return {}


def _explain_timeout(wait_s: float) -> AdmissibilityReason:
    message = (
        f"It took longer than the {wait_s:g} s that an answer waits; what is in flight goes on, "
        "and the same calls get its results."
    )
    return make_reason(ReasonCode.TOO_SLOW, message)


_FAILURE: Final = make_reason(ReasonCode.CALL_FAILED, "A call of the workflow failed.")
