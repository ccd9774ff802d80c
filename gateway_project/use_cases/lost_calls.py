"""Rebuilds the arguments of calls with an unknown outcome, for the person who may repeat them.

Sent arguments are not stored. They follow from the workflow and from the results of other tasks,
in the same way as when the run repeats the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from execution.changes import WHOLE_TASK
from execution.planning import parse, references
from execution.planning.parse import InvalidWorkflow
from execution.planning.references import ArgumentsTooDeep, MissingReferent, ReferencedDataTooLarge
from execution.running import results
from execution.status import TaskStatus
from execution.store import payloads, views
from execution.store.runs import UnknownRun
from execution.view import RunView, TaskView
from execution.workflow import Workflow, WorkflowTask
from gateway_project.foundation.references import make_reference
from gateway_project.foundation.sealing import Sealer, UnsealingFailed

MAX_REBUILT_CALLS: Final = 100
"""Calls of a run whose arguments are rebuilt; of the others only the task is shown."""
MAX_RESULT_BYTES: Final = 16 * 1024 * 1024
"""Limit of the results read for them, as JSON."""


@dataclass(frozen=True, kw_only=True)
class LostCall:
    """A call with an unknown outcome.

    Attributes:
        task: Its task, or item.
        arguments: With which it would be repeated; None: they cannot be rebuilt, since data was
            deleted or is too large, or there are too many calls.
    """

    task: TaskView
    arguments: Mapping[str, Any] | None = None


def find_unknown_calls(view: RunView) -> tuple[TaskView, ...]:
    """Return the calls of a run with an unknown outcome, items individually."""
    lost = [task for task in view.tasks if task.status is TaskStatus.UNKNOWN]
    for_each_tasks = {task.task for task in lost if task.item >= 0}
    return tuple(task for task in lost if task.item >= 0 or task.task not in for_each_tasks)


def load_lost_calls(view: RunView, *, sealer: Sealer) -> tuple[LostCall, ...]:
    """Return the calls of a run with an unknown outcome, with their arguments.

    Args:
        view: The run.
        sealer: Opens its workflow and results.
    """
    calls = find_unknown_calls(view)
    try:
        rebuilt = _rebuild_arguments(view, calls[:MAX_REBUILT_CALLS], sealer) if calls else []
    except (InvalidWorkflow, UnsealingFailed, UnknownRun):
        rebuilt = []
    rest = len(calls) - len(rebuilt)
    pairs = zip(calls, [*rebuilt, *[None] * rest], strict=True)
    return tuple(LostCall(task=task, arguments=arguments) for task, arguments in pairs)


def _rebuild_arguments(
    view: RunView, calls: Sequence[TaskView], sealer: Sealer
) -> list[Mapping[str, Any] | None]:
    loaded = views.load_view(view.id, caller=None, sealer=sealer, results=False, workflow=True)
    if loaded.workflow is None:
        return []
    workflow = parse.parse(loaded.workflow)
    task_results = _load_referenced_results(view, workflow, {call.task for call in calls}, sealer)
    return [
        _resolve_arguments(workflow.by_id.get(call.task), call.item, task_results)
        for call in calls
    ]


def _resolve_arguments(
    task: WorkflowTask | None, item: int, task_results: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    if task is None:  # removed by a replan
        return None
    try:
        value = references.NO_ITEM
        if task.for_each is not None:
            items = make_reference(*task.for_each)
            value = references.resolve_references(items, results=task_results.__getitem__)[item]
        arguments: Mapping[str, Any] = references.resolve_references(
            task.arguments, results=task_results.__getitem__, item=value
        )
    except (
        MissingReferent,
        ArgumentsTooDeep,
        ReferencedDataTooLarge,
        IndexError,
        KeyError,
        TypeError,
    ):
        return None
    return arguments


def _load_referenced_results(
    view: RunView, workflow: Workflow, tasks: set[str], sealer: Sealer
) -> Mapping[str, Any]:
    """Return the results referenced by some tasks; empty if they are too large to read."""
    present = [workflow.by_id[task] for task in tasks if task in workflow.by_id]
    succeeded = {
        task.task
        for task in view.tasks
        if task.item == WHOLE_TASK and task.status is TaskStatus.SUCCEEDED
    }
    wanted = {source for task in present for source in task.references} & succeeded
    sizes = payloads.load_result_sizes(view.id, wanted)
    if sum(size for _, size in sizes) > MAX_RESULT_BYTES:
        return {}
    loaded = payloads.load_results(view.id, [place for place, _ in sizes], sealer=sealer)
    found: dict[str, Any] = {
        task: [] for task in wanted if task in workflow.by_id and workflow.by_id[task].for_each
    }
    for (task, item), raw in sorted(loaded.items()):
        if item == WHOLE_TASK:
            found[task] = results.extract_root(raw)
        else:
            found[task].append(results.extract_root(raw))
    return found
