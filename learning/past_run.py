"""An ended run as patterns are learned from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution.ended_run import EndedRun
from execution.status import RunStatus
from execution.workflow import Reference, Task
from graph.patterns import PastRun, RunTask, normal_intent
from graph.references import as_item, as_literal, as_reference, reference

FIRST = "/0"
"""Of a list that a task ran for, the item that stands for all of them."""


def past_run(run: EndedRun, tools: Mapping[str, int]) -> PastRun | None:
    """Return what a run says of the workflow that carries out its intent; None: nothing.

    It says nothing if nobody said what it was for, if it was a single call, if it was aborted, if
    nothing of it was answered, or if a tool of it is gone. A task that ran for each item of a list
    is one task, which takes from the list's first item what it took from each.

    Args:
        run: The run.
        tools: Primary keys of its tools by canonical id.
    """
    if run.is_direct or not normal_intent(run.intent) or run.status is RunStatus.ABORTED:
        return None
    if run.workflow is None or not run.answered:
        return None
    tasks = run.workflow.tasks
    if any(task.tool not in tools for task in tasks):
        return None
    return PastRun(
        key=str(run.run),
        intent=run.intent,
        tasks=tuple(_task(task, tools[task.tool]) for task in tasks),
        succeeded=run.status is RunStatus.SUCCEEDED,
        at=run.ended_at,
    )


def _task(task: Task, tool: int) -> RunTask:
    arguments = {name: _given(value, task.for_each) for name, value in task.arguments.items()}
    return RunTask(id=task.id, tool=tool, arguments=arguments, depends_on=task.waits_for)


def _given(value: Any, items: Reference | None) -> Any:
    """Return an argument in which items are references; a workflow's are not nested deeply."""
    if items is None or as_reference(value) or as_literal(value):
        return value
    pointer = as_item(value)
    if pointer is not None:
        return reference(items.task, f"{items.pointer}{FIRST}{pointer}")
    if isinstance(value, Mapping):
        return {name: _given(inner, items) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_given(inner, items) for inner in value]
    return value
