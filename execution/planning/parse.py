"""Parses workflows from JSON, reporting all problems at once, and dumps them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from execution.planning import order
from execution.planning.parse_task import (
    MAX_TASKS,
    ProblemList,
    TaskReader,
    describe_type,
    read_task_id,
)
from execution.workflow import Workflow, WorkflowTask
from gateway_project.foundation.references import make_reference
from gateway_project.foundation.schema_problems import ArgumentProblem
from gateway_project.foundation.user_error import UserError
from graph.exchange.document import quote_value

MAX_REPORTED_PROBLEMS: Final = 10
"""Problems listed in an error's message; the error itself holds all."""
MAX_NAMED_CYCLE_TASKS: Final = 12
"""Tasks named per reported cycle."""


class InvalidWorkflow(UserError):
    """The workflow is invalid.

    Attributes:
        code: Stable error code.
        problems: All problems; paths start at the workflow.
    """

    code = "invalid_workflow"

    def __init__(self, problems: Sequence[ArgumentProblem]) -> None:
        summary = "; ".join(problem.message for problem in problems[:MAX_REPORTED_PROBLEMS])
        more = len(problems) - MAX_REPORTED_PROBLEMS
        super().__init__(summary + (f"; and {more} more" if more > 0 else ""))
        self.problems = tuple(problems)


def parse(value: Any, *, known: Collection[str] = ()) -> Workflow:
    """Parse a workflow.

    O(size of the workflow) and iterative for any input; anything beyond a limit is not read.

    Args:
        value: `{"tasks": [{"id", "tool", "arguments"?, "depends_on"?, "for_each"?, "on_error"?,
            "timeout_s"?}, …]}`, as JSON; null means omitted.
        known: Ids of further tasks that may be referenced: the begun ones of a run being
            replanned.

    Raises:
        InvalidWorkflow: With all problems found.

    Example:
        >>> parse({"tasks": [{"id": "a", "tool": "git:log"}]}).tasks[0].tool
        'git:log'
        >>> parse({"tasks": [{"id": "a", "tool": "git:log", "depends_on": ["a"]}]})
        Traceback (most recent call last):
        ...
        execution.planning.parse.InvalidWorkflow: task 'a' depends on itself
    """
    problems = ProblemList()
    rows = _read_rows(value, problems)
    ids = _collect_ids(rows, problems)
    reader = TaskReader(dict.fromkeys((*ids, *known)), problems=problems)
    found = [reader.read(raw, index) for index, raw in enumerate(rows)]
    tasks = tuple(task for task in found if task is not None)
    for cycle in order.find_cycles({task.id: task.waits_for for task in tasks if task.id}):
        _note_cycle(cycle, problems)
    if problems.to_tuple():
        raise InvalidWorkflow(problems.to_tuple())
    return Workflow(tasks=tasks)


def dump(workflow: Workflow) -> dict[str, Any]:
    """Return a workflow as JSON; the inverse of `parse`."""
    return {"tasks": [dump_task(task) for task in workflow.tasks]}


def dump_task(task: WorkflowTask) -> dict[str, Any]:
    """Return a task as JSON, without omitted fields."""
    written: dict[str, Any] = {"id": task.id, "tool": task.tool, "arguments": task.arguments}
    if task.depends_on:
        written["depends_on"] = list(task.depends_on)
    if task.for_each is not None:
        written["for_each"] = make_reference(*task.for_each)
    if task.on_error is not None:
        written["on_error"] = task.on_error.value
    if task.timeout_s is not None:
        written["timeout_s"] = task.timeout_s
    return written


def _read_rows(value: Any, problems: ProblemList) -> Sequence[Any]:
    """Return the raw tasks; none if there are too many."""
    expected = '{"tasks": [{"id", "tool", "arguments"}, …]}'
    if not isinstance(value, Mapping):
        found = f"the workflow must be an object {expected}, not {describe_type(value)}"
        problems.add("", found, expected)
        return ()
    for key in value:
        if key != "tasks":
            problems.add("", f"{quote_value(key)} is not a known field of a workflow", "tasks")
    tasks = value.get("tasks")
    if not isinstance(tasks, list | tuple):
        found = (
            "has no tasks"
            if tasks is None
            else f"must have an array of tasks: {describe_type(tasks)}"
        )
        problems.add("/tasks", f"the workflow {found}; expected {expected}", expected)
    elif not tasks:
        problems.add("/tasks", "the workflow has no tasks", "1 task or more")
    elif len(tasks) > MAX_TASKS:
        most = f"at most {MAX_TASKS:,}"
        message = f"the workflow has {len(tasks):,} tasks, {most} can be run; use for_each, or"
        problems.add("/tasks", f"{message} several runs", f"{most} tasks")
    else:
        return tasks
    return ()


def _collect_ids(rows: Sequence[Any], problems: ProblemList) -> dict[str, int]:
    """Return the index of each id, noting duplicates."""
    indexes: dict[str, int] = {}
    for index, raw in enumerate(rows):
        task_id = read_task_id(raw)
        if task_id and indexes.setdefault(task_id, index) != index:
            message = (
                f"tasks[{indexes[task_id]}] and tasks[{index}] have the same id "
                f"{quote_value(task_id)}"
            )
            problems.add(f"/tasks/{index}/id", message, "a unique id")
    return indexes


def _note_cycle(cycle: Sequence[str], problems: ProblemList) -> None:
    if len(cycle) == 1:
        message = f"task {quote_value(cycle[0])} depends on itself"
    else:
        named = [quote_value(task)[1:-1] for task in cycle[:MAX_NAMED_CYCLE_TASKS]]
        if len(cycle) > MAX_NAMED_CYCLE_TASKS:
            named.append(f"({len(cycle) - MAX_NAMED_CYCLE_TASKS} more)")
        path = " -> ".join((*named, named[0]))
        message = f"tasks depend on each other in a cycle: {path}"
    problems.add("/tasks", message, "tasks without a cycle")
