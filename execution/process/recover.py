"""Decide what becomes of the calls of a run whose process is gone.

A call whose intent is written down and whose outcome is not may have been made. If it may be made
again, it is. Any other is unknown: only a person can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from execution.changes import WHOLE_TASK
from execution.codes import APPROVAL_EXPIRED, APPROVAL_REJECTED
from execution.running.standing import Place, Standing, TaskStanding
from execution.status import TaskStatus
from execution.workflow import Workflow

if TYPE_CHECKING:
    from execution.store.leases import Held, HeldTask

Repeatable = Callable[[str, str], bool]
"""Whether a call of a tool with a definition hash may be made again."""

REFUSED = {"rejected": APPROVAL_REJECTED, "expired": APPROVAL_EXPIRED}
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
