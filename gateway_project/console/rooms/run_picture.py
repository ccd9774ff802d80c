"""A run as pictures: its tasks as a graph, and its calls over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from execution.changes import WHOLE_TASK
from execution.planning import parse
from execution.view import RunView
from gateway_project.runs.approval_text import single_line
from gateway_project.runs.timeline import Timeline

MAX_NODES: Final = 300
"""Tasks that are drawn; a larger graph is a list only."""
MAX_SPANS: Final = 60
PERCENT: Final = 100.0
MIN_WIDTH: Final = 0.4
"""Width of the shortest call in percent, so that it can be seen."""


def make_task_key(task: str, item: int) -> str:
    """Return the key of a task or item within its page.

    Example:
        >>> make_task_key("a", -1), make_task_key("a", 2)
        ('a', 'a[2]')
    """
    return task if item == WHOLE_TASK else f"{task}[{item}]"


def label_task(task: str, item: int) -> str:
    """Return the label of a task or item, with invisible characters escaped."""
    return single_line(make_task_key(task, item))


def draw_graph(view: RunView) -> Mapping[str, Any] | None:
    """Return nodes and edges of a run's tasks; None: its workflow expired or is too large."""
    if view.workflow is None or len(view.workflow.get("tasks", ())) > MAX_NODES:
        return None
    known = [task.task for task in view.tasks]  # a new workflow may build on tasks of the old one
    workflow = parse.parse(dict(view.workflow), known=known)
    statuses = {task.task: task.status.value for task in view.tasks if task.item == WHOLE_TASK}
    nodes = [
        {
            "id": task.id,
            "label": single_line(task.id),
            "tool": single_line(task.tool),
            "status": statuses.get(task.id, "pending"),
        }
        for task in workflow.tasks
    ]
    edges = [
        {"source": needed, "target": task.id}
        for task in workflow.tasks
        for needed in task.waits_for
        if needed in workflow.by_id
    ]
    return {"nodes": nodes, "edges": edges}


def draw_timeline(timeline: Timeline) -> Sequence[Mapping[str, Any]]:
    """Return the bars of a run's calls, as `timeline.draw_bar` draws them on a terminal."""
    whole_ms = timeline.elapsed_ms or 1.0
    return [
        {
            "key": make_task_key(span.task, span.item),
            "label": single_line(span.label),
            "tool": single_line(span.tool),
            "status": span.status,
            "start": round(PERCENT * span.start_ms / whole_ms, 2),
            "width": round(max(MIN_WIDTH, PERCENT * span.duration_ms / whole_ms), 2),
            "duration_ms": span.duration_ms if span.has_known_end else None,
        }
        for span in timeline.spans[:MAX_SPANS]
    ]
