"""What a person has to see of calls before they have them made again: what they were called with.

What was sent is not kept by itself. It follows from the workflow and from what other tasks gave,
as the run that makes the call again puts it together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from execution.changes import WHOLE_TASK
from execution.planning import parse, references
from execution.planning.parse import InvalidWorkflow
from execution.planning.references import MissingReferent, TooDeep, TooLarge
from execution.running import results
from execution.status import TaskStatus
from execution.store import payloads, views
from execution.store.runs import UnknownRun
from execution.view import RunView, TaskView
from execution.workflow import Task, Workflow
from gateway_project.foundation.sealing import SealBroken, Sealer
from graph.references import reference

MAX_SHOWN: Final = 100
"""Calls of a run whose arguments are put together; of the others only the task is told."""
MAX_BYTES: Final = 16 * 1024 * 1024
"""Results that are read for it, as JSON."""


@dataclass(frozen=True, kw_only=True)
class LostCall:
    """A call of which nobody knows how it ended.

    Attributes:
        task: How its task, or item, stands.
        arguments: What it would be made again with; None: that cannot be put together, since it
            is kept no longer, is too much, or stands for one call too many.
    """

    task: TaskView
    arguments: Mapping[str, Any] | None = None


def unknown_calls(view: RunView) -> tuple[TaskView, ...]:
    """Return the calls of a run of which nobody knows how they ended, items by themselves."""
    lost = [task for task in view.tasks if task.status is TaskStatus.UNKNOWN]
    lists = {task.task for task in lost if task.item >= 0}
    return tuple(task for task in lost if task.item >= 0 or task.task not in lists)


def lost_calls(view: RunView, *, sealer: Sealer) -> tuple[LostCall, ...]:
    """Return the calls of a run of which nobody knows how they ended, with their arguments.

    Args:
        view: How the run stands.
        sealer: Opens what it is to do, and what its tasks gave.
    """
    calls = unknown_calls(view)
    try:
        found = _arguments(view, calls[:MAX_SHOWN], sealer) if calls else []
    except (InvalidWorkflow, SealBroken, UnknownRun):
        found = []
    rest = len(calls) - len(found)
    pairs = zip(calls, [*found, *[None] * rest], strict=True)
    return tuple(LostCall(task=task, arguments=arguments) for task, arguments in pairs)


def _arguments(
    view: RunView, calls: Sequence[TaskView], sealer: Sealer
) -> list[Mapping[str, Any] | None]:
    read = views.view(view.id, caller=None, sealer=sealer, results=False, workflow=True)
    if read.workflow is None:
        return []
    workflow = parse.parse(read.workflow)
    given = _given(view, workflow, {call.task for call in calls}, sealer)
    return [_of(workflow.by_id.get(call.task), call.item, given) for call in calls]


def _of(task: Task | None, item: int, given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if task is None:  # a replan left it out
        return None
    try:
        value = references.OUTSIDE_LISTS
        if task.for_each is not None:
            listed = reference(task.for_each.task, task.for_each.pointer)
            value = references.resolve(listed, results=given.__getitem__)[item]
        arguments: Mapping[str, Any] = references.resolve(
            task.arguments, results=given.__getitem__, item=value
        )
    except (MissingReferent, TooDeep, TooLarge, IndexError, KeyError, TypeError):
        return None
    return arguments


def _given(
    view: RunView, workflow: Workflow, tasks: set[str], sealer: Sealer
) -> Mapping[str, Any]:
    """Return what references of some tasks see; nothing if that is too much to read."""
    known = [workflow.by_id[task] for task in tasks if task in workflow.by_id]
    succeeded = {
        task.task
        for task in view.tasks
        if task.item == WHOLE_TASK and task.status is TaskStatus.SUCCEEDED
    }
    wanted = {one for task in known for one in task.references} & succeeded
    sizes = payloads.result_sizes(view.id, wanted)
    if sum(size for _, size in sizes) > MAX_BYTES:
        return {}
    read = payloads.results(view.id, [place for place, _ in sizes], sealer=sealer)
    found: dict[str, Any] = {
        one: [] for one in wanted if one in workflow.by_id and workflow.by_id[one].for_each
    }
    for (task, item), raw in sorted(read.items()):
        if item == WHOLE_TASK:
            found[task] = results.root(raw)
        else:
            found[task].append(results.root(raw))
    return found
