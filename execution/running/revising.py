"""Revises a run: cancels, repeats or replaces parts of it."""

from __future__ import annotations

from datetime import datetime

from execution import events
from execution.changes import WHOLE_TASK
from execution.planning.parse import dump
from execution.planning.replan import merge_workflows
from execution.running.run_state import RunState
from execution.status import TaskStatus
from execution.workflow import Workflow

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
