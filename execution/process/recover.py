"""Decide what becomes of the calls of a run whose process is gone.

A call whose intent is written down and whose outcome is not may have been made. If it may be made
again, it is. Any other is unknown: only a person can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from execution import events
from execution.changes import WHOLE_TASK, Changes, Event, TaskChange
from execution.running.standing import Place, Standing, TaskStanding
from execution.status import RunStatus, TaskStatus
from execution.workflow import Workflow

if TYPE_CHECKING:
    from execution.store.leases import Held, HeldTask
    from execution.store.seizing import Seized

Repeatable = Callable[[str, str], bool]
"""Whether a call of a tool with a definition hash may be made again."""

REFUSED = {"rejected": "approval_rejected", "expired": "approval_expired"}
"""Code of a task by what became of its approval."""


def standing(held: Held, workflow: Workflow, *, repeatable: Repeatable) -> Standing:
    """Return how a run stands for the process that has taken it.

    Args:
        held: What was found of it.
        workflow: As it is now.
        repeatable: Asked of calls that were under way.
    """
    return Standing(
        run=held.run,
        epoch=held.epoch,
        last_seq=held.last_seq,
        workflow=workflow,
        options=held.options,
        deadline_at=held.deadline_at,
        version=held.version,
        status=held.status,
        tasks=_tasks(held.tasks, workflow, repeatable),
    )


def after_loss(task: HeldTask, tool: str, *, repeatable: Repeatable) -> TaskStatus:
    """Return how a call stands for the process that takes over: pending, if it is to be made.

    A call that was under way may be made again only if the definition is still the one that was
    called: the word of an admin or a server on another one says nothing about it. One that stays
    running is lost: the executor writes down that it is unknown.
    """
    if task.status is not TaskStatus.RUNNING:
        return task.status
    return TaskStatus.PENDING if repeatable(tool, task.definition_hash) else TaskStatus.RUNNING


def _tasks(
    tasks: Mapping[Place, HeldTask], workflow: Workflow, repeatable: Repeatable
) -> dict[Place, TaskStanding]:
    found = {}
    for place, task in tasks.items():
        planned = workflow.by_id.get(place[0])
        if planned is None:
            continue
        is_call = planned.for_each is None or place[1] != WHOLE_TASK
        status = task.status
        if is_call:  # a list is none: each of its calls stands for itself
            status = after_loss(task, planned.tool, repeatable=repeatable)
        found[place] = TaskStanding(
            status=status,
            attempts=task.attempts,
            error_code=task.error_code,
            approval=task.approval if task.approval_status == "approved" else None,
            definition_hash=task.definition_hash,
            arguments_digest=task.arguments_digest,
        )
    return found


def closing(seized: Seized, *, code: str, error: str, at: datetime) -> Changes:
    """Return what ends a run that cannot be gone on with, as failed.

    Whether a call that was under way has been made stays open: it is unknown.

    Args:
        seized: How it stands.
        code: Why, as a stable word.
        error: Why, in one line.
        at: When.
    """
    open_tasks = [
        (place, _ENDS[status]) for place, status in seized.tasks.items() if status in _ENDS
    ]
    told = [(kind, *place) for place, (_, kind) in open_tasks]
    told.append((events.RUN_ENDED, "", WHOLE_TASK))
    return Changes(
        run=seized.run,
        epoch=seized.epoch,
        tasks=tuple(
            TaskChange(task=task, item=item, status=status, at=at)
            for (task, item), (status, _) in open_tasks
        ),
        events=tuple(
            Event(seq=seized.last_seq + number, kind=kind, at=at, task=task, item=item)
            for number, (kind, task, item) in enumerate(told, 1)
        ),
        status=RunStatus.FAILED,
        error_code=code,
        error=error,
    )


_ENDS = {
    TaskStatus.RUNNING: (TaskStatus.UNKNOWN, events.TASK_UNKNOWN),
    TaskStatus.WAITING_APPROVAL: (TaskStatus.CANCELLED, events.TASK_CANCELLED),
    TaskStatus.PENDING: (TaskStatus.SKIPPED, events.TASK_SKIPPED),
}
