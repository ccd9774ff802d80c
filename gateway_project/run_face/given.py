"""What the tasks of a run gave, as references see it, and what else came with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from execution.changes import WHOLE_TASK
from execution.running import results
from execution.status import TaskStatus
from execution.view import RunView, TaskView


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a task gave.

    Attributes:
        task: Its id.
        raws: What the server gave, for each item, None where it gave nothing; one that runs once
            has one.
        is_list: Whether it runs for each of a list.
        size_bytes: Of all of it, as JSON.
    """

    task: str
    raws: tuple[Mapping[str, Any] | None, ...]
    is_list: bool
    size_bytes: int

    @property
    def value(self) -> Any:
        """What references to it see."""
        roots = [None if raw is None else results.root(raw) for raw in self.raws]
        return roots if self.is_list else roots[0]

    @property
    def contents(self) -> Any:
        """The blocks that its value does not hold; empty if there are none."""
        blocks = [[] if raw is None else list(beyond(raw)) for raw in self.raws]
        if not any(blocks):
            return []
        return blocks if self.is_list else blocks[0]

    @property
    def whole(self) -> Mapping[str, Any]:
        """All that came, to be kept."""
        return {"items": list(self.raws)} if self.is_list else dict(self.raws[0] or {})


def given(view: RunView) -> tuple[Given, ...]:
    """Return what the tasks of a run gave: those that succeeded, and lists of which items did."""
    items: dict[str, list[TaskView]] = {}
    for task in view.tasks:
        if task.item != WHOLE_TASK:
            items.setdefault(task.task, []).append(task)
    lists = set(items) | {task["id"] for task in _given_tasks(view) if task.get("for_each")}
    whole = (task for task in view.tasks if task.item == WHOLE_TASK)
    found = (
        _list(task, items.get(task.task, ())) if task.task in lists else _once(task)
        for task in whole
    )
    return tuple(one for one in found if one is not None)


def beyond(raw: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the blocks of a result that its value does not hold.

    Example:
        >>> picture = {"type": "image", "data": "", "mimeType": "image/png"}
        >>> raw = {"content": [{"type": "text", "text": "7"}, picture]}
        >>> list(beyond(raw)) == [picture]
        True
    """
    blocks = raw.get("content")
    structured = raw.get("structuredContent")
    is_held = False
    for block in blocks if isinstance(blocks, list | tuple) else ():
        text = block.get("text") if isinstance(block, Mapping) else None
        if isinstance(text, str) and not is_held:
            is_held = structured is None or _says(text, structured)
            if is_held:
                continue
        yield block


def _given_tasks(view: RunView) -> Sequence[Mapping[str, Any]]:
    tasks: Sequence[Mapping[str, Any]] = (view.workflow or {}).get("tasks", ())
    return tasks


def _once(task: TaskView) -> Given | None:
    """Return what a task gave that runs once; None: nothing."""
    if task.status is not TaskStatus.SUCCEEDED:
        return None
    size_bytes = task.result_bytes or 0
    return Given(task=task.task, raws=(task.result,), is_list=False, size_bytes=size_bytes)


def _list(task: TaskView, items: Sequence[TaskView]) -> Given | None:
    """Return what the items of a task gave, as far as they were begun; None: nothing.

    What one of them gave is kept whatever becomes of the others, and of the task.
    """
    succeeded = {one.item: one for one in items if one.status is TaskStatus.SUCCEEDED}
    if not succeeded and task.status is not TaskStatus.SUCCEEDED:
        return None
    begun = 1 + max((one.item for one in items), default=-1)
    rows = [succeeded.get(item) for item in range(begun)]
    return Given(
        task=task.task,
        raws=tuple(None if row is None else row.result for row in rows),
        is_list=True,
        size_bytes=sum(row.result_bytes or 0 for row in succeeded.values()),
    )


def _says(text: str, structured: Any) -> bool:
    """Whether a text is the structured content once more, as the protocol asks for."""
    try:
        return bool(json.loads(text) == structured)
    except (ValueError, RecursionError):
        return False
