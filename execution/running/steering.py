"""Steers a run: applies commands and deadlines, and derives its status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from execution import events
from execution.changes import NO_DATA, WHOLE_TASK
from execution.codes import DONE
from execution.planning.parse import InvalidWorkflow, dump
from execution.planning.replan import merge_workflows
from execution.running.run_state import RunState
from execution.status import RunStatus, TaskStatus
from execution.workflow import Workflow

ABORTED: Final = "aborted"
DEADLINE_EXCEEDED: Final = "deadline_exceeded"
_EVENT_KINDS: Final[Mapping[RunStatus, str]] = {
    RunStatus.PAUSED: events.RUN_PAUSED,
    RunStatus.WAITING: events.RUN_WAITING,
    RunStatus.UNKNOWN: events.RUN_UNKNOWN,
    RunStatus.RUNNING: events.RUN_RESUMED,
}


class RunOutlook(NamedTuple):
    """The derived state of a run.

    Attributes:
        status: Of the run.
        is_at_layer_end: Whether all open layers are complete.
    """

    status: RunStatus
    is_at_layer_end: bool = False


def derive_outlook(
    state: RunState, *, is_busy: bool, is_paused: bool, is_halted: bool, cancel_reason: str
) -> RunOutlook:
    """Derive the state of a run.

    Args:
        state: State of its tasks.
        is_busy: Whether calls are in flight or about to be.
        is_paused: Whether somebody paused it.
        is_halted: Whether this process starts no more calls.
        cancel_reason: Why it is ending early; empty: it is not.
    """
    if is_busy:
        return RunOutlook(RunStatus.PAUSED if is_paused else RunStatus.RUNNING)
    schedule = state.schedule
    if schedule.is_settled:
        status = _derive_final_status(state, cancel_reason)
        if status.is_final:
            return RunOutlook(status)
    if schedule.is_layer_complete:
        return RunOutlook(RunStatus.PAUSED, is_at_layer_end=True)
    if is_paused:
        return RunOutlook(RunStatus.PAUSED)
    if is_halted or state.queues:
        return RunOutlook(RunStatus.RUNNING)
    return RunOutlook(RunStatus.WAITING if state.is_waiting else RunStatus.UNKNOWN)


def report_outlook(
    state: RunState, outlook: RunOutlook, at: datetime, *, before: RunStatus, cancel_reason: str
) -> None:
    """Add the state of a run and its event to the pending changes."""
    code, error = _explain_run_failure(state, outlook, cancel_reason)
    state.pending_changes.set_status(outlook.status, code=code, error=error)
    kind, data = _build_event(state, outlook, before)
    state.pending_changes.add_event(kind, at, data)


def _build_event(
    state: RunState, outlook: RunOutlook, before: RunStatus
) -> tuple[str, Mapping[str, Any]]:
    """Return the kind and data of the event that reports a state."""
    if outlook.is_at_layer_end:
        layers = {"layer": state.schedule.current_layer, "of": state.schedule.layer_count}
        return events.LAYER_COMPLETE, layers
    if outlook.status.is_final:
        return events.RUN_ENDED, {"status": outlook.status.value}
    if before is RunStatus.QUEUED and outlook.status is RunStatus.RUNNING:
        return events.RUN_STARTED, NO_DATA
    return _EVENT_KINDS[outlook.status], NO_DATA


def _explain_run_failure(
    state: RunState, outlook: RunOutlook, cancel_reason: str
) -> tuple[str, str]:
    """Return the error code and message of a failed run; empty if it has not failed."""
    if outlook.status is not RunStatus.FAILED:
        return "", ""
    if cancel_reason:
        return cancel_reason, "the run did not finish before its deadline"
    cause = state.failure_cause
    because = f"task {cause.task!r}: {cause.message}" if cause else ""
    if cause and state.schedule.is_stopped:
        return cause.code, because
    return "nothing_succeeded", "; ".join(filter(None, ("no task succeeded", because)))


def _derive_final_status(state: RunState, cancel_reason: str) -> RunStatus:
    """Return the final status of a settled run; success in time overrides a cancellation."""
    verdict = state.schedule.derive_final_status()
    is_cut_short = state.is_cut_short or state.schedule.has_status(TaskStatus.CANCELLED)
    if not cancel_reason or (verdict is RunStatus.SUCCEEDED and not is_cut_short):
        return verdict
    return RunStatus.ABORTED if cancel_reason == ABORTED else RunStatus.FAILED


class RunController:
    """Applies commands to a run and reports its status.

    `command` is the primary key of the command being carried out.
    """

    def __init__(
        self, state: RunState, status: RunStatus, *, cancel_calls: Callable[[], None]
    ) -> None:
        self.is_halted = False
        """Whether this process starts no more calls."""
        self.cancel_reason = ""
        """Why the run is ending early; empty: it is not."""
        self.must_reload_results = True
        """Whether results may have to be reloaded."""
        self.is_queued = status is RunStatus.QUEUED
        """Whether its start has not been reported yet."""
        self._state = state
        self._cancel_calls = cancel_calls
        self._reported = RunOutlook(status)
        self._is_paused = status is RunStatus.PAUSED
        self._abort_commands: list[int | None] = []

    @property
    def can_start(self) -> bool:
        """Whether calls may be begun."""
        return not (self._is_paused or self.is_halted or self.cancel_reason)

    def restore_layer(self) -> None:
        """Restore the open layer from the state of the tasks."""
        if self._is_paused:
            self._reported = self._reported._replace(
                is_at_layer_end=self._state.schedule.is_layer_complete
            )
        else:
            self._state.schedule.open_next_layer()

    def note_started(self, at: datetime) -> None:
        """Report the start of a queued run."""
        self.is_queued = self._reported.status is RunStatus.QUEUED
        if self.is_queued and self.can_start:
            self._report(RunOutlook(RunStatus.RUNNING), at)

    def settle_status(self, at: datetime, *, is_busy: bool) -> RunStatus:
        """Derive the run's status, and report it if it has changed.

        Args:
            at: When.
            is_busy: Whether calls are in flight or about to be.
        """
        if is_busy and self._reported.status is RunStatus.RUNNING and not self._is_paused:
            return RunStatus.RUNNING
        outlook = derive_outlook(
            self._state,
            is_busy=is_busy,
            is_paused=self._is_paused,
            is_halted=self.is_halted,
            cancel_reason=self.cancel_reason,
        )
        for command in self._abort_commands if outlook.status.is_final else ():
            self._state.pending_changes.add_applied_command(command, DONE)
        if outlook.status is not self._reported.status or (
            outlook.is_at_layer_end and not self._reported.is_at_layer_end
        ):
            self._report(outlook, at)
        self._reported = outlook
        self._is_paused = self._is_paused or outlook.is_at_layer_end
        return outlook.status

    def pause(self, command: int | None, _at: datetime) -> None:
        """Start no more calls."""
        self._is_paused = True
        self._state.pending_changes.add_applied_command(command, DONE)

    def resume(self, command: int | None, rerun_unknown: bool, at: datetime) -> None:
        """Resume after a pause, or with the next layer."""
        if rerun_unknown and not self.cancel_reason:
            rerun_unknown_calls(self._state, at)
        self._open_next_layer()
        self._is_paused = False
        self._state.pending_changes.add_applied_command(command, DONE)

    def replan(self, workflow: Workflow, command: int | None, at: datetime) -> None:
        """Replace the tasks that have not begun, if the new ones fit."""
        if self.cancel_reason:  # ending the run closes the command
            return
        try:
            apply_replan(self._state, workflow, at)
        except InvalidWorkflow as error:
            self._state.pending_changes.add_applied_command(command, error.code)
            self._record_command("replan", error.code, at)
            return
        self.must_reload_results = True
        self._open_next_layer()
        self._state.pending_changes.add_applied_command(command, DONE)

    def abort(self, command: int | None, at: datetime) -> None:
        """Abort the run; the command is applied once the run has ended.

        Until then it stays open, so that a process that claims the run does not resume it.
        """
        self._abort_commands.append(command)
        self._record_command("abort", DONE, at)
        cancel_pending(self._state, TaskStatus.CANCELLED, at, code=ABORTED)

    def pass_deadline(self, at: datetime) -> None:
        """End the run because its deadline has passed."""
        cancel_pending(self._state, TaskStatus.SKIPPED, at, code=DEADLINE_EXCEEDED)

    def cancel_early(self, reason: str) -> None:
        """Cancel the calls in flight immediately, even if the database is unavailable."""
        if not self.cancel_reason:
            self.cancel_reason = reason
            self._cancel_calls()

    def _report(self, outlook: RunOutlook, at: datetime) -> None:
        report_outlook(
            self._state,
            outlook,
            at,
            before=self._reported.status,
            cancel_reason=self.cancel_reason,
        )
        self._reported = outlook

    def _open_next_layer(self) -> None:
        """Open the next layer if the run stopped at the end of one."""
        if self._reported.is_at_layer_end:
            self._reported = self._reported._replace(is_at_layer_end=False)
            self._is_paused = False
            self._state.schedule.open_next_layer()

    def _record_command(self, action: str, outcome: str, at: datetime) -> None:
        """Add an event for a command that has no event of its own."""
        data = {"action": action, "outcome": outcome}
        self._state.pending_changes.add_event(events.COMMAND_APPLIED, at, data)


_UNSTARTED_STATUSES = (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL, TaskStatus.SKIPPED)


def cancel_pending(state: RunState, status: TaskStatus, at: datetime, *, code: str) -> None:
    """Cancel everything that has not started.

    Args:
        state: State of the run.
        status: Final status of what was not begun.
        at: When.
        code: Reason, for lost calls that are not repeated.
    """
    for task in state.for_each_tasks.list_begun():
        if state.schedule.statuses.get(task) is TaskStatus.PENDING:
            state.drop_lost_items(task, code, at)
    for task in state.schedule.drop_unstarted(status):
        state.is_cut_short = True
        state.pending_approvals.withdraw((task, WHOLE_TASK))
        state.pending_changes.add_task_status((task, WHOLE_TASK), status, at)
        state.result_cache.release_task(state.schedule.tasks[task])
    lost = state.find_lost_calls()
    state.stop_lists(state.for_each_tasks, status, at)
    for key in lost:
        state.is_cut_short = True
        state.cancel_lost_call(key, code, at)


def rerun_unknown_calls(state: RunState, at: datetime) -> None:
    """Make calls with unknown outcomes ready again."""
    for task in state.for_each_tasks:
        for item in state.for_each_tasks[task].find_items(TaskStatus.UNKNOWN):
            state.make_pending((task, item), at)
            state.set_ready((task, item))
    for task, status in tuple(state.schedule.statuses.items()):
        if status is TaskStatus.UNKNOWN:
            for item in state.for_each_tasks.find_items(task, status):
                state.make_pending((task, item), at)
                state.for_each_tasks.note_status(task, item, TaskStatus.PENDING)
            state.make_pending((task, WHOLE_TASK), at)
            state.schedule.requeue_task(task)


def apply_replan(state: RunState, new: Workflow, at: datetime) -> None:
    """Replace the tasks that have not begun.

    Raises:
        InvalidWorkflow: If the new tasks do not fit the current state of the run.
    """
    before = state.schedule.statuses
    merged = merge_workflows(
        state.workflow, new, {task: _find_effective_status(state, task) for task in before}
    )
    gone = {*merged.changed, *merged.removed}
    for key in [key for key in state.pending_approvals.list_asked() if key[0] in gone]:
        state.pending_approvals.withdraw(key)
        if key[0] in merged.changed:
            state.make_pending(key, at)
    state.replace_workflow(merged.workflow, {task: before[task] for task in merged.kept}, at)
    state.pending_changes.set_workflow(dump(merged.workflow))
    data = {"kept": len(merged.kept), "changed": list(merged.changed)}
    data |= {"added": list(merged.added), "removed": list(merged.removed)}
    state.pending_changes.add_event(events.RUN_REPLANNED, at, data)


def _find_effective_status(state: RunState, task: str) -> TaskStatus:
    """Return a task's status; running if its call was lost and was to be repeated."""
    status = state.schedule.statuses[task]
    is_lost = status in _UNSTARTED_STATUSES and state.attempts.get((task, WHOLE_TASK))
    return TaskStatus.RUNNING if is_lost else status
