"""Executes a run: starts ready calls and journals every change until the run is at rest."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final
from uuid import UUID

from execution import events
from execution.changes import RunFenced, TaskKey
from execution.codes import APPROVAL_REJECTED
from execution.planning.references import NO_ITEM
from execution.running import failure, for_each, steering
from execution.running.dependencies import ExecutorDependencies
from execution.running.dispatch import Dispatcher, StateUpdate
from execution.running.failure import CallCancelled
from execution.running.in_flight import RESULT_BATCH_SIZE, CallCompletion, InFlightCalls
from execution.running.result_cache import RunTooLarge
from execution.running.results import LARGE_BYTES, ResultRoot
from execution.running.run_state import RunState
from execution.running.steering import RunController
from execution.snapshot import RunSnapshot
from execution.status import RunStatus
from execution.workflow import Workflow, WorkflowTask
from gateway_project.foundation import json_size
from gateway_project.foundation.task_group import TaskGroup

MAX_CALLS: Final = 16
"""Calls of a layer that are resolved; the run makes the others itself."""


class Execution:
    """One run, while this process holds it.

    Call all methods on the event loop's thread; they may be called before `run`. Their effects are
    applied and journalled by `run`. Updates after `run` has returned have no effect here: their
    commands stay open in the database for the process that claims the run next.

    `command` is the primary key of the command that a method carries out; it is marked as applied
    in the transaction that journals its effect, with `done` or a refusal code.

    Execution proceeds in steps, one at a time: apply updates, begin ready calls, journal both.
    Updates during a step go into the next, so that a call's completion and the intents that follow
    from it share a transaction. A call is made only once its intent is durable. Steps are taken by
    the task of `run`, or by the task of a call that ended while no other was in flight.
    """

    def __init__(self, snapshot: RunSnapshot, dependencies: ExecutorDependencies) -> None:
        self.snapshot = snapshot
        """State of the run when it was claimed."""
        self._dependencies = dependencies
        self._state = state = RunState(snapshot, dependencies.prepare)
        self._group = TaskGroup()
        self._wake = asyncio.Event()
        self._calls = calls = InFlightCalls(
            dependencies,
            self._group,
            on_ended=self._post_completion,
            wake_up=self._wake_up,
            continue_run=self._take_steps_after_call,
            referenced_tasks=state.result_cache.reference_counts,
        )
        self._updates: deque[StateUpdate] = deque()
        self._has_updates = True
        self._is_stepping = False
        self._is_abandoned = False
        self._final_status: RunStatus | None = None
        self._error: Exception | None = None
        self._controller = RunController(state, snapshot.status, cancel_calls=calls.cancel_all)
        self._dispatcher = Dispatcher(
            state, self._controller, calls, dependencies, post_update=self._post_update
        )

    @property
    def workflow(self) -> Workflow:
        """The current workflow."""
        return self._state.workflow

    def list_next_calls(self) -> list[tuple[WorkflowTask, Mapping[str, Any]]]:
        """Return calls of the layer that opens next; none unless at a decision point, at rest."""
        return list_next_calls(self._state)

    async def run(self) -> RunStatus:
        """Execute until the run is final or at rest, and everything is journalled.

        Cancelling this cancels the calls in flight; their tasks stay recorded as running, with
        unknown outcomes.

        Returns:
            A final or resting status; `RUNNING` after `halt`, once the calls in flight have ended.

        Raises:
            RunFenced: If another process has claimed the run; calls in flight are cancelled.
        """
        fenced: RunFenced | None = None
        deadline = self._schedule_deadline()
        self._calls.open()
        try:
            async with self._group:
                try:
                    return await self._run_steps()
                except RunFenced as error:
                    self._error = fenced = error
                    self._calls.cancel_all()
        finally:
            self._calls.close()
            if deadline is not None:
                deadline.cancel()
        raise fenced

    def pause(self, *, command: int | None = None) -> None:
        """Start no more calls; calls in flight finish."""
        self._post_update(partial(self._controller.pause, command))

    def resume(self, *, command: int | None = None, rerun_unknown: bool = False) -> None:
        """Resume after a pause, or with the next layer.

        Args:
            command: The command being carried out.
            rerun_unknown: Whether to repeat calls with unknown outcomes; only on a person's
                choice.
        """
        self._post_update(partial(self._controller.resume, command, rerun_unknown))

    def abort(self, *, command: int | None = None) -> None:
        """End the run: cancel the calls in flight and start no more."""
        self._controller.cancel_early(steering.ABORTED)
        self._post_update(partial(self._controller.abort, command))

    def replan(self, workflow: Workflow, *, command: int | None = None) -> None:
        """Replace the tasks that have not started; finished ones and calls in flight stay.

        Merged with the state of the run when it is applied; refused with the code
        `invalid_workflow` if it no longer fits. A run that stopped at a decision point continues;
        a paused one stays paused.
        """
        self._post_update(partial(self._controller.replan, workflow, command))

    def apply_decision(
        self, task: str, item: int, approval: UUID, *, approved: bool, code: str = ""
    ) -> None:
        """Apply a person's decision about a pending call.

        Args:
            task: Id of the task.
            item: Index in its list.
            approval: Primary key of the approval.
            approved: Whether the call may be made.
            code: Reason of a refusal: `approval_rejected` or `approval_expired`.
        """
        refusal = "" if approved else code or APPROVAL_REJECTED
        key = (task, item)
        self._post_update(
            lambda at: self._state.apply_decision(key, approval, at, refusal=refusal)
        )

    def halt(self) -> None:
        """Start no more calls in this process; calls in flight finish."""
        self._controller.is_halted = True
        self._wake_up()

    def abandon_calls(self) -> None:
        """Start no more calls, and stop waiting for those in flight.

        They are cancelled; their tasks stay recorded as running, with unknown outcomes. Updates
        received so far are journalled.
        """
        self._is_abandoned = True
        self.halt()
        self._calls.cancel_all()

    # Internals of `run`.

    async def _run_steps(self) -> RunStatus:
        now = self._dependencies.clock()
        self._state.open(now)
        if self.snapshot.status is RunStatus.RUNNING:
            self._state.pending_changes.add_event(events.RUN_ADOPTED, now)
        await self._reload_results()
        self._state.reopen_lists(now)
        self._controller.restore_layer()
        while True:
            await self._take_steps()
            if self._error is not None:
                raise self._error
            if self._final_status is not None:
                return self._final_status
            await self._wake.wait()

    async def _take_steps(self) -> None:
        """Take steps until no update is left; a concurrent caller leaves its own to this one."""
        self._wake.clear()
        if self._is_stepping:
            return
        self._is_stepping = True
        try:
            while self._has_updates and not (self._has_ended or self._calls.has_next_call):
                self._has_updates = False
                self._wake.clear()
                await self._take_step()
        finally:
            self._is_stepping = False

    async def _take_steps_after_call(self) -> None:
        """Continue the run in the task of a call that has ended; `run` does what is left."""
        try:
            await self._take_steps()
        except Exception as error:  # noqa: BLE001 - raised by `run`
            self._error = error
        if self._has_updates or self._has_ended:
            self._wake.set()

    @property
    def _has_ended(self) -> bool:
        return self._final_status is not None or self._error is not None

    async def _take_step(self) -> None:
        """Apply updates, begin ready calls, and journal both."""
        now = self._dependencies.clock()
        self._apply_updates(now)
        while self._controller.must_reload_results:
            await self._reload_results()
            self._apply_updates(now)
        if self._controller.is_queued:
            self._controller.note_started(now)
        begun = await self._dispatcher.begin_calls(now)
        has_more = self._dispatcher.has_more
        is_busy = bool(self._calls) or bool(begun)
        status = self._controller.settle_status(now, is_busy=is_busy or has_more)
        await self._dispatcher.write_and_launch(begun)
        if self._is_finished(status):
            self._final_status = status
        elif has_more:
            self._has_updates = True
            if not self._calls.has_next_call:
                await asyncio.sleep(0)

    def _is_finished(self, status: RunStatus) -> bool:
        """Whether `run` can return; late updates do not change an end."""
        if self._calls:
            return False
        is_resting = self._controller.is_halted or status.is_at_rest
        return status.is_final or (not self._updates and is_resting)

    def _apply_updates(self, at: datetime) -> None:
        while self._updates:
            self._updates.popleft()(at)

    async def _reload_results(self) -> None:
        """Reload results that open tasks refer to and that are not in memory."""
        self._controller.must_reload_results = False
        missing = sorted(self._state.find_missing_results())
        for first in range(0, len(missing), RESULT_BATCH_SIZE):
            tasks = missing[first : first + RESULT_BATCH_SIZE]
            results = await self._dependencies.reload_results(tasks)
            self._state.restore_results(results, tasks)

    def _post_completion(
        self, key: TaskKey, outcome: CallCompletion, at: datetime, *, root: ResultRoot | None
    ) -> None:
        self._updates.append(partial(self._apply_completion, key, outcome, root, at))
        self._has_updates = True

    def _apply_completion(
        self,
        key: TaskKey,
        outcome: CallCompletion,
        root: ResultRoot | None,
        at: datetime,
        _now: datetime,
    ) -> None:
        """Apply the outcome of a call."""
        self._calls.mark_handled(key)
        if outcome is None:
            if self._controller.cancel_reason:
                self._state.record_cancellation(key, self._controller.cancel_reason, at)
            elif not self._is_abandoned:
                self._state.record_failure(key, failure.failure_from_error(CallCancelled()), at)
        elif isinstance(outcome, Exception):
            self._state.record_failure(key, failure.failure_from_error(outcome), at)
        elif outcome.result.is_error:
            call_failure = failure.failure_from_result(outcome.result, outcome.duration_s * 1000)
            self._state.record_failure(key, call_failure, at)
        else:
            raw, duration_ms = outcome.result.raw, outcome.duration_s * 1000
            self._state.record_success(key, raw, duration_ms, at, root)

    def _post_update(self, update: StateUpdate) -> None:
        self._updates.append(update)
        self._wake_up()

    def _wake_up(self) -> None:
        self._has_updates = True
        self._wake.set()

    def _schedule_deadline(self) -> asyncio.TimerHandle | None:
        """Schedule the run's deadline on the monotonic clock."""
        if self.snapshot.deadline_at is None:
            return None
        left_s = (self.snapshot.deadline_at - self._dependencies.clock()).total_seconds()
        if left_s <= 0:
            self._pass_deadline()
            return None
        return asyncio.get_running_loop().call_later(left_s, self._pass_deadline)

    def _pass_deadline(self) -> None:
        self._controller.cancel_early(steering.DEADLINE_EXCEEDED)
        self._post_update(self._controller.pass_deadline)


def list_next_calls(state: RunState) -> list[tuple[WorkflowTask, Mapping[str, Any]]]:
    """Return the calls of the layer that opens next: task and arguments, references replaced.

    Tasks with large arguments, or whose references cannot be resolved, are left out: the run
    itself resolves them on a worker thread and reports what is wrong.

    Args:
        state: State of a run at rest.

    Returns:
        At most `MAX_CALLS`; none unless the run is at a decision point.
    """
    tasks = [state.schedule.tasks[task] for task in state.schedule.list_next_layer()]
    return list(islice((call for task in tasks for call in _resolve(state, task)), MAX_CALLS))


def _resolve(
    state: RunState, task: WorkflowTask
) -> Iterator[tuple[WorkflowTask, Mapping[str, Any]]]:
    results = state.result_cache
    is_small = results.estimate_size_bytes(task.references) <= LARGE_BYTES
    if not (is_small and json_size.is_small(task.arguments)):
        return
    try:
        items = (
            [NO_ITEM]
            if task.for_each is None
            else for_each.require_list_items(results.resolve_list(task))
        )
        for item in items:
            yield task, results.resolve(task.arguments, item=item)
    except (LookupError, for_each.NotAList, RunTooLarge):
        return
