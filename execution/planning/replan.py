"""Put a new plan in the place of what a run has not begun yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from execution.planning import parse
from execution.planning.parse import InvalidWorkflow
from execution.status import TaskStatus
from execution.workflow import Task, Workflow
from gateway_project.foundation import canonical
from gateway_project.foundation.schema_problems import Problem
from graph.exchange.document import shown

_OPEN: Final = frozenset({TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL})
"""Nothing was called; another task may take the place."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Merged:
    """A run's workflow after a replan, and the difference.

    Attributes:
        workflow: What the run goes on with: what has begun, in the old order, then the rest.
        kept: Ids of tasks that are as they were.
        changed: Of tasks that had not begun, and are others now.
        added: Of new tasks.
        removed: Of tasks that are gone: they had not begun, or were skipped.
    """

    workflow: Workflow
    kept: tuple[str, ...]
    changed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


def merge(old: Workflow, new: Workflow, done: Mapping[str, TaskStatus]) -> Merged:
    """Return a run's workflow with what it has not begun replaced.

    What has begun stays, named or not, so that its results can be referred to. What was skipped
    stays if it is repeated as it was, or if something waited for it that stays; to try it again,
    give it another id.

    Args:
        old: What the run has gone by so far, with canonical ids of tools.
        new: What it is to do, parsed with the ids of what has begun as known ones, and with
            canonical ids of tools; what has begun may be left out, or repeated as it was.
        done: How tasks stand; those that are left out are pending.

    Raises:
        InvalidWorkflow: If something that has begun is changed, the new tasks refer to what is
            gone, or both together pass the limits of a workflow.
    """
    fixed = {task: status for task, status in done.items() if status not in _OPEN}
    problems = tuple(_touched(old, new, fixed))
    if problems:
        raise InvalidWorkflow(problems)
    ids = _staying(old, new, fixed)
    merged = [task for task in old.tasks if task.id in ids]
    merged += [task for task in new.tasks if task.id not in ids]
    workflow = parse.parse(parse.dump(Workflow(tasks=tuple(merged))))
    same = {task.id for task in merged if _is_same(task, old.by_id.get(task.id))}
    return Merged(
        workflow=workflow,
        kept=_ids(merged, same),
        changed=_ids(merged, old.by_id.keys() - same),
        added=tuple(task.id for task in merged if task.id not in old.by_id),
        removed=tuple(task.id for task in old.tasks if task.id not in workflow.by_id),
    )


def _staying(old: Workflow, new: Workflow, fixed: Mapping[str, TaskStatus]) -> set[str]:
    """Return the ids of what stays of the old workflow, with all that it waited for."""
    waiting = [
        task.id
        for task in old.tasks
        if task.id in fixed and (fixed[task.id] is not TaskStatus.SKIPPED or task.id in new.by_id)
    ]
    ids = set(waiting)
    while waiting:
        for one in old.by_id[waiting.pop()].waits_for:
            if one not in ids and one not in new.by_id:
                ids.add(one)
                waiting.append(one)
    return ids


def _touched(old: Workflow, new: Workflow, fixed: Mapping[str, TaskStatus]) -> Iterator[Problem]:
    for place, task in enumerate(new.tasks):
        status = fixed.get(task.id)
        if status is None or _is_same(task, old.by_id.get(task.id)):
            continue
        message = (
            f"task {shown(task.id)} is {status.value} already and cannot be changed; leave it "
            "out, or repeat it as it was, and give what is new another id"
        )
        yield Problem(path=f"/tasks/{place}", message=message, expected="the task as it was")


def _is_same(one: Task, other: Task | None) -> bool:
    return other is not None and _written(one) == _written(other)


def _written(task: Task) -> str:
    return canonical.dumps(parse.dump_task(task))


def _ids(tasks: Collection[Task], chosen: Collection[str]) -> tuple[str, ...]:
    return tuple(task.id for task in tasks if task.id in chosen)
