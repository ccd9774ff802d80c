"""Restores the calls of a run whose process was lost.

A call with a journalled intent and no outcome may have been made. It is repeated if that is
allowed; otherwise its outcome is unknown, and only a person can decide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from execution.changes import WHOLE_TASK, TaskKey
from execution.codes import APPROVAL_EXPIRED, APPROVAL_REJECTED
from execution.running.snapshot import RunSnapshot, TaskSnapshot
from execution.status import TaskStatus
from execution.workflow import Workflow

if TYPE_CHECKING:
    from execution.store.leases import LeasedRun, LeasedTask

IsRepeatable = Callable[[str, str], bool]
"""Whether a call of a tool (id, definition hash) may be repeated."""

REFUSAL_CODES = {"rejected": APPROVAL_REJECTED, "expired": APPROVAL_EXPIRED}
"""Error codes of tasks by approval status."""


def restore_snapshot(
    leased_run: LeasedRun, workflow: Workflow, *, repeatable: IsRepeatable
) -> RunSnapshot:
    """Build the snapshot of a claimed run.

    Args:
        leased_run: The claimed run.
        workflow: The current workflow.
        repeatable: Applied to calls that were in flight.
    """
    return RunSnapshot(
        run=leased_run.run,
        epoch=leased_run.epoch,
        last_seq=leased_run.last_seq,
        workflow=workflow,
        options=leased_run.options,
        deadline_at=leased_run.deadline_at,
        status=leased_run.status,
        tasks=_restore_tasks(leased_run.tasks, workflow, repeatable),
    )


def derive_status_after_loss(
    task: LeasedTask, tool: str, *, repeatable: IsRepeatable
) -> TaskStatus:
    """Return a call's status after the loss of its process: pending if it is to be repeated.

    A call in flight may be repeated only if the definition is still the one that was called: what
    an admin or server says of another definition does not apply. One that stays running is lost:
    the executor records it as unknown.
    """
    if task.status is not TaskStatus.RUNNING:
        return task.status
    return TaskStatus.PENDING if repeatable(tool, task.definition_hash) else TaskStatus.RUNNING


def _restore_tasks(
    tasks: Mapping[TaskKey, LeasedTask], workflow: Workflow, repeatable: IsRepeatable
) -> dict[TaskKey, TaskSnapshot]:
    snapshots = {}
    for key, task in tasks.items():
        workflow_task = workflow.by_id.get(key[0])
        if workflow_task is None:
            continue
        is_call = workflow_task.for_each is None or key[1] != WHOLE_TASK
        status = task.status
        if is_call:  # a for-each task is not a call itself; its items are
            status = derive_status_after_loss(task, workflow_task.tool, repeatable=repeatable)
        snapshots[key] = TaskSnapshot(
            status=status,
            attempts=task.attempts,
            error_code=task.error_code,
            approval=task.approval if task.approval_status == "approved" else None,
            definition_hash=task.definition_hash,
            arguments_digest=task.arguments_digest,
        )
    return snapshots
