"""The state of a run as its page shows it live: no payloads, so the same for all its viewers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from execution.changes import WHOLE_TASK
from execution.view import ApprovalView, RunView, TaskView
from gateway_project.foundation.text import strip_invisible
from gateway_project.runs.timeline import build_timeline

MAX_TASKS: Final = 2_000
"""Tasks and items of a run that are followed live; the page says how many more there are."""


def describe_run(view: RunView) -> dict[str, Any]:
    """Return what a page shows of a run as a whole."""
    return {
        "status": view.status.value,
        "is_final": view.status.is_final,
        "version": view.version,
        "last_seq": view.last_seq,
        "started_at": _format_iso(view.started_at),
        "ended_at": _format_iso(view.ended_at),
        "error_code": view.error_code,
        "more_tasks": max(0, len(view.tasks) - MAX_TASKS),
        "waits_for": [_describe_approval(one) for one in view.pending_approvals],
        "timeline": build_timeline(view).as_json(),
    }


def describe_tasks(view: RunView, before: RunView | None) -> list[dict[str, Any]]:
    """Return the tasks that differ from an earlier view of the run; None: all."""
    known = {} if before is None else {(task.task, task.item): task for task in before.tasks}
    return [
        _describe_task(task)
        for task in view.tasks[:MAX_TASKS]
        if known.get((task.task, task.item)) != task
    ]


def list_removed(view: RunView, before: RunView | None) -> list[str]:
    """Return the tasks that a new workflow no longer has."""
    if before is None or before.version == view.version:
        return []
    kept = {task.task for task in view.tasks}
    return sorted({task.task for task in before.tasks} - kept)


def _describe_task(task: TaskView) -> dict[str, Any]:
    described: dict[str, Any] = {
        "task": task.task,
        "tool": strip_invisible(task.tool),
        "status": task.status.value,
        "attempts": task.attempts,
        "started_at": _format_iso(task.started_at),
        "ended_at": _format_iso(task.ended_at),
        "duration_ms": task.duration_ms,
        "error_code": task.error_code,
        "result_bytes": task.result_bytes,
    }
    return described if task.item == WHOLE_TASK else described | {"item": task.item}


def _describe_approval(approval: ApprovalView) -> Mapping[str, Any]:
    return {
        "id": str(approval.id),
        "task": approval.task,
        "tool": strip_invisible(approval.tool),
        "reason": strip_invisible(approval.reason),
        "expires_at": approval.expires_at.isoformat(),
    }


def _format_iso(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds") if moment else None


def cut_pages(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Cut a sequence into pages; one empty page of none.

    Example:
        >>> cut_pages([1, 2, 3], 2), cut_pages([], 2)
        ([[1, 2], [3]], [[]])
    """
    return [items[start : start + size] for start in range(0, len(items), size)] or [items]
