"""Restores the executor's state from the snapshot of a claimed run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from execution.changes import WHOLE_TASK, TaskKey
from execution.running import for_each
from execution.running.approval_requests import AskedApproval
from execution.running.failure import FailureCause
from execution.snapshot import RunSnapshot, TaskSnapshot
from execution.status import TaskStatus
from execution.workflow import OnError


@dataclass(frozen=True, kw_only=True)
class ResumeState:
    """The restored states of a claimed run's calls.

    Attributes:
        task_statuses: By task; a for-each task is running if any of its calls was begun.
        item_statuses: By for-each task and item.
        asked_approvals: Calls whose approval is pending or granted.
        lost_keys: Calls in flight when the process was lost; outcomes unknown.
        stopped_tasks: For-each tasks that begin no further call.
        failure_cause: The first relevant failure, one that stops the run before others; None:
            none.
        is_stopped: Whether it stopped the run.
    """

    task_statuses: dict[str, TaskStatus] = field(default_factory=dict)
    item_statuses: dict[str, dict[int, TaskStatus]] = field(default_factory=dict)
    asked_approvals: dict[TaskKey, AskedApproval] = field(default_factory=dict)
    lost_keys: list[TaskKey] = field(default_factory=list)
    stopped_tasks: set[str] = field(default_factory=set)
    failure_cause: FailureCause | None = None
    is_stopped: bool = False


_SETTLED_STATUSES: Final = frozenset(status for status in TaskStatus if status.is_done) | {
    TaskStatus.UNKNOWN
}


def build_resume_state(snapshot: RunSnapshot) -> ResumeState:
    """Restore the states of a run's calls."""
    state = ResumeState()
    for key, row in snapshot.tasks.items():
        workflow_task = snapshot.workflow.by_id.get(key[0])
        if workflow_task is None:
            continue
        if workflow_task.for_each is not None and key[1] == WHOLE_TASK:
            state.task_statuses[key[0]] = row.status
            if row.error_code == for_each.LIST_STOPPED:
                state.stopped_tasks.add(key[0])
            if row.status is TaskStatus.RUNNING:
                state.item_statuses.setdefault(key[0], {})
        else:
            _add_call(state, key, row)
    for task in state.item_statuses:
        if state.task_statuses.get(task) not in _SETTLED_STATUSES:
            state.task_statuses[task] = TaskStatus.RUNNING
    return _add_failure(state, snapshot)


def _add_failure(state: ResumeState, snapshot: RunSnapshot) -> ResumeState:
    """Add the failure cause to a restored state."""
    failures = sorted(
        _iterate_failures(snapshot), key=lambda failure: failure[0] is not OnError.STOP
    )
    if not failures:
        return state
    policy, cause = failures[0]
    stops = policy is OnError.STOP and not _has_unstarted_work(snapshot, state)
    return replace(state, failure_cause=cause, is_stopped=stops)


def _iterate_failures(snapshot: RunSnapshot) -> Iterator[tuple[OnError, FailureCause]]:
    """Yield the relevant failures with their policies."""
    for (task, _), row in snapshot.tasks.items():
        workflow_task = snapshot.workflow.by_id.get(task)
        if workflow_task is None or row.status is not TaskStatus.FAILED:
            continue
        policy = workflow_task.on_error or snapshot.options.on_error
        if policy is not OnError.SAFE_TO_FAIL:
            yield policy, FailureCause(task, row.error_code, "it failed; see its own error")


def _has_unstarted_work(snapshot: RunSnapshot, state: ResumeState) -> bool:
    """Whether unstarted work may begin: after a stop, only a replan brings that."""
    for task in snapshot.workflow.by_id:
        status = state.task_statuses.get(task, TaskStatus.PENDING)
        row = snapshot.tasks.get((task, WHOLE_TASK))
        if status in _UNSTARTED_STATUSES and not (row and row.attempts):
            return True
        if (
            status is TaskStatus.RUNNING
            and task in state.item_statuses
            and task not in state.stopped_tasks
        ):
            return True
    return False


_UNSTARTED_STATUSES: Final = (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL)


def _add_call(state: ResumeState, key: TaskKey, row: TaskSnapshot) -> None:
    status = row.status
    if status is TaskStatus.RUNNING:
        state.lost_keys.append(key)
        status = TaskStatus.UNKNOWN
    elif status is TaskStatus.WAITING_APPROVAL:
        state.asked_approvals[key] = AskedApproval(
            row.definition_hash, row.arguments_digest, row.approval
        )
        status = TaskStatus.PENDING if row.approval else status
    task, item = key
    if item == WHOLE_TASK:
        state.task_statuses[task] = status
    else:
        state.item_statuses.setdefault(task, {})[item] = status
