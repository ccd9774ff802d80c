"""Results of a run's tasks: the values that references resolve to, and other content."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from execution.changes import WHOLE_TASK
from execution.running import results
from execution.status import RunStatus, TaskStatus
from execution.view import RunView, TaskView

if TYPE_CHECKING:
    from execution.early_run import EarlyRun

MS_PER_S: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class TaskResults:
    """The results of a task.

    Attributes:
        task: Its id.
        raw_results: The server's result of each item, None if there is none; one result if the
            task runs once.
        is_list: Whether the task runs for each item of a list.
        size_bytes: Size of all results as JSON, without what pictures, audio and blobs take.
    """

    task: str
    raw_results: tuple[Mapping[str, Any] | None, ...]
    is_list: bool
    size_bytes: int

    @property
    def value(self) -> Any:
        """The value that references to the task resolve to."""
        roots = [None if raw is None else results.extract_root(raw) for raw in self.raw_results]
        return roots if self.is_list else roots[0]

    @property
    def extra_blocks(self) -> Any:
        """Content blocks that are not part of the value; empty if there are none."""
        blocks = [
            [] if raw is None else list(iterate_extra_blocks(raw)) for raw in self.raw_results
        ]
        if not any(blocks):
            return []
        return blocks if self.is_list else blocks[0]

    @property
    def full_result(self) -> Mapping[str, Any]:
        """The complete result, for storage."""
        return (
            {"items": list(self.raw_results)} if self.is_list else dict(self.raw_results[0] or {})
        )


def collect_results(view: RunView) -> tuple[TaskResults, ...]:
    """Return the results of tasks that succeeded, and of lists with items that did."""
    items: dict[str, list[TaskView]] = {}
    for task in view.tasks:
        if task.item != WHOLE_TASK:
            items.setdefault(task.task, []).append(task)
    lists = set(items) | {task["id"] for task in _workflow_tasks(view) if task.get("for_each")}
    whole = (task for task in view.tasks if task.item == WHOLE_TASK)
    found = (
        _collect_items(task, items.get(task.task, ()))
        if task.task in lists
        else _collect_single(task)
        for task in whole
    )
    return tuple(result for result in found if result is not None)


def early_run_to_json(run: EarlyRun | None) -> dict[str, Any]:
    """Return results of a workflow that was run ahead, as those of a run; None: there are none."""
    if run is None:
        return {}
    found = [
        TaskResults(task=task, raw_results=raw, is_list=task in run.lists, size_bytes=0)
        for task, raw in run.raw_results.items()
    ]
    answer = {
        "status": (RunStatus.PARTIAL_SUCCESS if run.reasons else RunStatus.SUCCEEDED).value,
        "results": {one.task: one.value for one in found},
        "results_age_ms": round(MS_PER_S * run.took_s),
    }
    contents = {one.task: blocks for one in found if (blocks := one.extra_blocks)}
    return answer | ({"contents": contents} if contents else {})


def iterate_extra_blocks(raw: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the content blocks of a result that are not part of its value.

    Example:
        >>> picture = {"type": "image", "data": "", "mimeType": "image/png"}
        >>> raw = {"content": [{"type": "text", "text": "7"}, picture]}
        >>> list(iterate_extra_blocks(raw)) == [picture]
        True
    """
    structured = raw.get("structuredContent")
    is_value_seen = False
    for block in results.list_blocks(raw):
        text = block.get("text") if isinstance(block, Mapping) else None
        if isinstance(text, str) and not is_value_seen:
            is_value_seen = structured is None or _is_structured_copy(text, structured)
            if is_value_seen:
                continue
        yield block


def _workflow_tasks(view: RunView) -> Sequence[Mapping[str, Any]]:
    tasks: Sequence[Mapping[str, Any]] = (view.workflow or {}).get("tasks", ())
    return tasks


def _collect_single(task: TaskView) -> TaskResults | None:
    """Return the result of a task that runs once; None: there is none."""
    if task.status is not TaskStatus.SUCCEEDED:
        return None
    return TaskResults(
        task=task.task, raw_results=(task.result,), is_list=False, size_bytes=_measure_rest(task)
    )


def _measure_rest(task: TaskView) -> int:
    media = sum(results.measure_media(block) for block in results.list_blocks(task.result or {}))
    return max(0, (task.result_bytes or 0) - media)


def _collect_items(task: TaskView, items: Sequence[TaskView]) -> TaskResults | None:
    """Return the results of a task's items up to the last begun one; None: there are none.

    The result of an item is kept even if other items or the task fail.
    """
    succeeded = {item.item: item for item in items if item.status is TaskStatus.SUCCEEDED}
    if not succeeded and task.status is not TaskStatus.SUCCEEDED:
        return None
    begun_count = 1 + max((item.item for item in items), default=-1)
    rows = [succeeded.get(index) for index in range(begun_count)]
    return TaskResults(
        task=task.task,
        raw_results=tuple(None if row is None else row.result for row in rows),
        is_list=True,
        size_bytes=sum(_measure_rest(row) for row in succeeded.values()),
    )


def _is_structured_copy(text: str, structured: Any) -> bool:
    """Whether a text repeats the structured content, as the protocol recommends."""
    try:
        return bool(json.loads(text) == structured)
    except (ValueError, RecursionError):
        return False
