"""Replaces the unstarted part of a run's workflow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from execution.planning import parse
from execution.planning.parse import InvalidWorkflow
from execution.status import TaskStatus
from execution.workflow import Workflow, WorkflowTask
from gateway_project.foundation import canonical
from gateway_project.foundation.schema_problems import ArgumentProblem
from graph.exchange.document import quote_value

_UNSTARTED_STATUSES: Final = frozenset({TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL})
"""Not called yet; another task may replace them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MergedWorkflow:
    """A run's workflow after a replan, with the differences.

    Attributes:
        workflow: The merged workflow: begun tasks in the old order, then the rest.
        replacement: The workflow that it was merged with.
        kept: Ids of unchanged tasks.
        changed: Ids of unstarted tasks that were changed.
        added: Ids of new tasks.
        removed: Ids of removed tasks, which were unstarted or skipped.
    """

    workflow: Workflow
    replacement: Workflow
    kept: tuple[str, ...]
    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def effects(self) -> dict[str, list[str]]:
        """Ids of tasks by what the replan did to them, as clients read it."""
        return {
            "kept": list(self.kept),
            "changed": list(self.changed),
            "added": list(self.added),
            "removed": list(self.removed),
        }


def merge_workflows(
    old: Workflow, new: Workflow, done: Mapping[str, TaskStatus]
) -> MergedWorkflow:
    """Replace the unstarted part of a run's workflow.

    Begun tasks stay, named or not, so that their results can be referred to. A skipped task stays
    if it is repeated unchanged, or if a staying task waited for it; to retry it, give it another
    id.

    Args:
        old: The run's current workflow, with canonical tool ids.
        new: The replacement, parsed with the ids of begun tasks as `known`, and with canonical
            tool ids; begun tasks may be omitted or repeated unchanged.
        done: Task statuses; missing tasks are pending.

    Raises:
        InvalidWorkflow: If a begun task is changed, new tasks refer to removed ones, or the merged
            workflow exceeds the limits.
    """
    fixed = {task: status for task, status in done.items() if status not in _UNSTARTED_STATUSES}
    problems = tuple(_find_conflicts(old, new, fixed))
    if problems:
        raise InvalidWorkflow(problems)
    ids = _find_kept_ids(old, new, fixed)
    merged = [task for task in old.tasks if task.id in ids]
    merged += [task for task in new.tasks if task.id not in ids]
    workflow = parse.parse(parse.dump(Workflow(tasks=tuple(merged))))
    same = {task.id for task in merged if _is_same_task(task, old.by_id.get(task.id))}
    return MergedWorkflow(
        workflow=workflow,
        replacement=new,
        kept=_select_ids(merged, same),
        changed=_select_ids(merged, old.by_id.keys() - same),
        added=tuple(task.id for task in merged if task.id not in old.by_id),
        removed=tuple(task.id for task in old.tasks if task.id not in workflow.by_id),
    )


def _find_kept_ids(old: Workflow, new: Workflow, fixed: Mapping[str, TaskStatus]) -> set[str]:
    """Return the ids of staying old tasks, with everything they waited for."""
    waiting = [
        task.id
        for task in old.tasks
        if task.id in fixed and (fixed[task.id] is not TaskStatus.SKIPPED or task.id in new.by_id)
    ]
    ids = set(waiting)
    while waiting:
        for dependency in old.by_id[waiting.pop()].waits_for:
            if dependency not in ids and dependency not in new.by_id:
                ids.add(dependency)
                waiting.append(dependency)
    return ids


def _find_conflicts(
    old: Workflow, new: Workflow, fixed: Mapping[str, TaskStatus]
) -> Iterator[ArgumentProblem]:
    for place, task in enumerate(new.tasks):
        status = fixed.get(task.id)
        if status is None or _is_same_task(task, old.by_id.get(task.id)):
            continue
        message = (
            f"task {quote_value(task.id)} is already {status.value} and cannot be changed; omit "
            "it or repeat it unchanged, and give new tasks another id"
        )
        yield ArgumentProblem(
            path=f"/tasks/{place}", message=message, expected="the task unchanged"
        )


def _is_same_task(one: WorkflowTask, other: WorkflowTask | None) -> bool:
    return other is not None and _dump_canonical(one) == _dump_canonical(other)


def _dump_canonical(task: WorkflowTask) -> str:
    return canonical.dumps(parse.dump_task(task))


def _select_ids(tasks: Collection[WorkflowTask], chosen: Collection[str]) -> tuple[str, ...]:
    return tuple(task.id for task in tasks if task.id in chosen)
