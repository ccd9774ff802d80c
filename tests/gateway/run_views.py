"""Runs as views, for tests of what is made of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from execution.changes import WHOLE_TASK
from execution.status import RunStatus, TaskStatus
from execution.view import ApprovalView, RunView, TaskView

RUN = UUID(int=7)
BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(ms: float) -> datetime:
    """Return a moment after the start of the run."""
    return BEGAN + timedelta(milliseconds=ms)


def text(said: str) -> dict[str, Any]:
    """Return a result that is one block of text."""
    return {"content": [{"type": "text", "text": said}]}


def task(
    name: str,
    status: TaskStatus = TaskStatus.SUCCEEDED,
    *,
    span: tuple[float, float | None] | None = None,
    item: int = WHOLE_TASK,
    **values: Any,
) -> TaskView:
    """Return a task, begun and ended so many milliseconds after its run."""
    start, end = span or (None, None)
    if (result := values.get("result")) is not None:
        values.setdefault("result_bytes", len(str(result)))
    return TaskView(
        task=name,
        tool=f"server:{name}",
        status=status,
        item=item,
        started_at=None if start is None else at(start),
        ended_at=None if end is None else at(end),
        **values,
    )


def view(*tasks: TaskView, status: RunStatus = RunStatus.SUCCEEDED, **values: Any) -> RunView:
    """Return a run of an admin's with these tasks."""
    fields: dict[str, Any] = {
        "id": RUN,
        "user": "admin",
        "team": None,
        "kind": "stdio",
        "is_direct": False,
        "version": 1,
        "last_seq": 1,
        "created_at": BEGAN,
        "changed_at": at(1_000),
    }
    return RunView(tasks=tasks, status=status, **(fields | values))


def approval(name: str = "wipe", **values: Any) -> ApprovalView:
    """Return what waits for a person."""
    fields: dict[str, Any] = {
        "id": UUID(int=9),
        "run": RUN,
        "task": name,
        "tool": f"server:{name}",
        "reason": "it is dangerous",
        "user": "me",
        "team": None,
        "status": "pending",
        "created_at": BEGAN,
        "expires_at": at(86_400_000),
        "arguments": {"path": "/"},
    }
    return ApprovalView(**(fields | values))
