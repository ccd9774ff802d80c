"""What a person or an agent changes about a run: what it is to do, and what it is not."""

from __future__ import annotations

from datetime import datetime

from execution import events
from execution.changes import WHOLE_TASK
from execution.planning.parse import dump
from execution.planning.replan import merge
from execution.running.run_state import RunState
from execution.status import TaskStatus
from execution.workflow import Workflow

_NOT_BEGUN = (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL, TaskStatus.SKIPPED)


def call_off(state: RunState, status: TaskStatus, at: datetime, *, code: str) -> None:
    """Start nothing more.

    Args:
        state: Of the run.
        status: Of what was not begun; in it nothing ever starts.
        at: When.
        code: Why, for what was begun, lost, and is not made again.
    """
    for task in state.lists.begun():
        if state.schedule.status.get(task) is TaskStatus.PENDING:
            state.drop_lost_items(task, code, at)
    for task in state.schedule.drop(status):
        state.is_cut_short = True
        state.questions.withdraw((task, WHOLE_TASK))
        state.draft.stands((task, WHOLE_TASK), status, at)
        state.roots.released(state.schedule.tasks[task])
    lost = state.lost_calls()
    state.stop_lists(state.lists, status, at)
    for place in lost:
        state.is_cut_short = True
        state.cancel_lost(place, code, at)


def rerun_unknown(state: RunState, at: datetime) -> None:
    """Make the calls ready again of which nobody knows how they ended."""
    for task in state.lists:
        for item in state.lists[task].where(TaskStatus.UNKNOWN):
            state.make_pending((task, item), at)
            state.set_ready((task, item))
    for task, status in tuple(state.schedule.status.items()):
        if status is TaskStatus.UNKNOWN:
            for item in state.lists.where(task, status):
                state.make_pending((task, item), at)
                state.lists.note(task, item, TaskStatus.PENDING)
            state.make_pending((task, WHOLE_TASK), at)
            state.schedule.again(task)


def replan(state: RunState, new: Workflow, at: datetime) -> None:
    """Put other tasks in the place of those that have not begun.

    Raises:
        InvalidWorkflow: If they do not fit to how the run stands by now.
    """
    before = state.schedule.status
    merged = merge(state.workflow, new, {task: _begun(state, task) for task in before})
    gone = {*merged.changed, *merged.removed}
    for place in [place for place in state.questions.places() if place[0] in gone]:
        state.questions.withdraw(place)
        if place[0] in merged.changed:
            state.make_pending(place, at)
    state.plan(merged.workflow, {task: before[task] for task in merged.kept}, at)
    state.draft.workflow(dump(merged.workflow))
    data = {"kept": len(merged.kept), "changed": list(merged.changed)}
    data |= {"added": list(merged.added), "removed": list(merged.removed)}
    state.draft.event(events.RUN_REPLANNED, at, data)


def _begun(state: RunState, task: str) -> TaskStatus:
    """Return how a task stands; running if its call was lost, and was to be made again."""
    status = state.schedule.status[task]
    is_lost = status in _NOT_BEGUN and state.attempts.get((task, WHOLE_TASK))
    return TaskStatus.RUNNING if is_lost else status
