"""Restores the calls of a run whose process was lost.

A call with a journalled intent and no outcome may have been made. It is repeated if that is
allowed; otherwise its outcome is unknown, and only a person can decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from execution.changes import WHOLE_TASK
from execution.snapshot import RunSnapshot
from execution.status import TaskStatus

IsRepeatable = Callable[[str, str], bool]
"""Whether a call of a tool (id, definition hash) may be repeated."""


def requeue_repeatable_calls(snapshot: RunSnapshot, is_repeatable: IsRepeatable) -> RunSnapshot:
    """Make the calls pending that were in flight and may be repeated.

    A call may be repeated only if the definition is still the one that was called: what an admin
    or server says of another definition does not apply. One that stays running is lost: the
    executor records it as unknown. Tasks that the workflow no longer has are left out.
    """
    tasks = {}
    for key, task in snapshot.tasks.items():
        workflow_task = snapshot.workflow.by_id.get(key[0])
        if workflow_task is None:
            continue
        # A for-each task is not a call itself; its items are.
        is_call = workflow_task.for_each is None or key[1] != WHOLE_TASK
        was_in_flight = is_call and task.status is TaskStatus.RUNNING
        if was_in_flight and is_repeatable(workflow_task.tool, task.definition_hash):
            tasks[key] = replace(task, status=TaskStatus.PENDING)
        else:
            tasks[key] = task
    return replace(snapshot, tasks=tasks)
