"""Read a workflow as a client gives it, and write it again; all that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from execution.planning import order
from execution.planning.parse_task import Limits, Problems, TaskReader, id_of, what
from execution.workflow import Task, Workflow
from gateway_project.foundation.schema_problems import Problem
from graph.exchange.document import shown
from graph.references import reference

__all__ = ["LIMITS", "InvalidWorkflow", "Limits", "dump", "dump_task", "parse"]

LIMITS: Final = Limits()
MAX_TOLD: Final = 10
"""Problems that the message of an error tells; the error holds them all."""
MAX_NAMED: Final = 12
"""Tasks of a cycle that are named."""


class InvalidWorkflow(Exception):
    """A workflow that cannot be run.

    Attributes:
        code: Stable word for programs.
        problems: What is wrong with it; paths begin at the workflow.
    """

    code = "invalid_workflow"

    def __init__(self, problems: Sequence[Problem]) -> None:
        told = "; ".join(problem.message for problem in problems[:MAX_TOLD])
        more = len(problems) - MAX_TOLD
        super().__init__(told + (f"; and {more} more" if more > 0 else ""))
        self.problems = tuple(problems)


def parse(value: Any, *, limits: Limits = LIMITS, known: Collection[str] = ()) -> Workflow:
    """Read a workflow.

    O(size of the workflow), without recursion, whatever is given; what passes a limit is not read
    any further.

    Args:
        value: `{"tasks": [{"id", "tool", "arguments"?, "depends_on"?, "for_each"?, "on_error"?,
            "timeout_s"?}, …]}`, as JSON; null stands for what is left out.
        limits: What it may be.
        known: Ids of tasks that are not in it and may be referred to all the same: those that the
            run which it is for has begun.

    Raises:
        InvalidWorkflow: With everything that is wrong with it.

    Example:
        >>> parse({"tasks": [{"id": "a", "tool": "git:log"}]}).tasks[0].tool
        'git:log'
        >>> parse({"tasks": [{"id": "a", "tool": "git:log", "depends_on": ["a"]}]})
        Traceback (most recent call last):
        ...
        execution.planning.parse.InvalidWorkflow: task 'a' waits for itself
    """
    problems = Problems()
    rows = _rows(value, problems, limits)
    ids = _ids(rows, problems, limits)
    reader = TaskReader(dict.fromkeys((*ids, *known)), problems=problems, limits=limits)
    found = [reader.read(raw, place) for place, raw in enumerate(rows)]
    tasks = tuple(task for task in found if task is not None)
    for cycle in order.cycles({task.id: task.waits_for for task in tasks if task.id}):
        _note_cycle(cycle, problems)
    if problems.all():
        raise InvalidWorkflow(problems.all())
    return Workflow(tasks=tasks)


def dump(workflow: Workflow) -> dict[str, Any]:
    """Return a workflow as JSON, of which `parse` makes the same workflow."""
    return {"tasks": [dump_task(task) for task in workflow.tasks]}


def dump_task(task: Task) -> dict[str, Any]:
    """Return a task as JSON, without what was left out."""
    written: dict[str, Any] = {"id": task.id, "tool": task.tool, "arguments": task.arguments}
    if task.depends_on:
        written["depends_on"] = list(task.depends_on)
    if task.for_each is not None:
        written["for_each"] = reference(task.for_each.task, task.for_each.pointer)
    if task.on_error is not None:
        written["on_error"] = task.on_error.value
    if task.timeout_s is not None:
        written["timeout_s"] = task.timeout_s
    return written


def _rows(value: Any, problems: Problems, limits: Limits) -> Sequence[Any]:
    """Return the tasks as they are given; none where there are too many to be looked at."""
    expected = '{"tasks": [{"id", "tool", "arguments"}, …]}'
    if not isinstance(value, Mapping):
        found = f"the workflow must be an object {expected}, not {what(value)}"
        problems.note("", found, expected)
        return ()
    for key in value:
        if key != "tasks":
            problems.note("", f"{shown(key)} is not a known field of a workflow", "tasks")
    tasks = value.get("tasks")
    if not isinstance(tasks, list | tuple):
        found = "has no tasks" if tasks is None else f"must have an array of tasks: {what(tasks)}"
        problems.note("/tasks", f"the workflow {found}; expected {expected}", expected)
    elif not tasks:
        problems.note("/tasks", "the workflow has no tasks", "1 task or more")
    elif len(tasks) > limits.tasks:
        most = f"at most {limits.tasks:,}"
        message = f"the workflow has {len(tasks):,} tasks, {most} can be run; use for_each, or"
        problems.note("/tasks", f"{message} several runs", f"{most} tasks")
    else:
        return tasks
    return ()


def _ids(rows: Sequence[Any], problems: Problems, limits: Limits) -> dict[str, int]:
    """Return the place of each id, noting those that are taken twice."""
    places: dict[str, int] = {}
    for place, raw in enumerate(rows):
        own = id_of(raw, limits)
        if own and places.setdefault(own, place) != place:
            message = f"tasks[{places[own]}] and tasks[{place}] have the same id {shown(own)}"
            problems.note(f"/tasks/{place}/id", message, "an id of its own")
    return places


def _note_cycle(cycle: Sequence[str], problems: Problems) -> None:
    if len(cycle) == 1:
        message = f"task {shown(cycle[0])} waits for itself"
    else:
        named = [shown(task)[1:-1] for task in cycle[:MAX_NAMED]]
        if len(cycle) > MAX_NAMED:
            named.append(f"({len(cycle) - MAX_NAMED} more)")
        path = " -> ".join((*named, named[0]))
        message = f"tasks wait for each other, each for the next: {path}"
    problems.note("/tasks", message, "tasks that wait for each other in no circle")
