"""Converts an ended run to the form from which patterns are learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution.ended_run import EndedRun
from execution.status import RunStatus
from execution.workflow import WorkflowTask
from gateway_project.foundation.references import (
    ReferenceTarget,
    make_reference,
    parse_item,
    parse_literal,
    parse_reference,
)
from graph.patterns import PastRun, RunTask, normalize_intent

FIRST_ITEM = "/0"
"""The item of a for-each list that represents all of them."""


def build_past_run(run: EndedRun, tools: Mapping[str, int]) -> PastRun | None:
    """Return a run in the form of a pattern's evidence; None: it gives none.

    It gives none if it has no intent, was a direct call or aborted, has no answered call, or uses
    a deleted tool. A for-each task counts as one task, whose item references point to the list's
    first item.
    """
    if run.is_direct or not normalize_intent(run.intent) or run.status is RunStatus.ABORTED:
        return None
    if run.workflow is None or not run.answered_calls:
        return None
    tasks = run.workflow.tasks
    if any(task.tool not in tools for task in tasks):
        return None
    return PastRun(
        key=str(run.run),
        intent=run.intent,
        tasks=tuple(_build_run_task(task, tools[task.tool]) for task in tasks),
        succeeded=run.status is RunStatus.SUCCEEDED,
        at=run.ended_at,
        weight=run.weight,
        person=run.contributor.person,
    )


def _build_run_task(task: WorkflowTask, tool: int) -> RunTask:
    arguments = {
        name: replace_items(value, task.for_each) for name, value in task.arguments.items()
    }
    return RunTask(id=task.id, tool=tool, arguments=arguments, depends_on=task.waits_for)


def replace_items(value: Any, items: ReferenceTarget | None) -> Any:
    """Return a value with references to items replaced by references to the list's first item.

    Args:
        value: Of the arguments of a for-each task.
        items: The list; None: there is none, and nothing is replaced.
    """
    if items is None or parse_reference(value) or parse_literal(value):
        return value
    pointer = parse_item(value)
    if pointer is not None:
        place = pointer if items.select else f"{items.pointer}{FIRST_ITEM}{pointer}"
        return make_reference(items.task, place, items.select)
    if isinstance(value, Mapping):
        return {name: replace_items(inner, items) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [replace_items(inner, items) for inner in value]
    return value
