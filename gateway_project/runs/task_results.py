"""Results of a run's tasks: the values that references resolve to, and other content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from execution.changes import WHOLE_TASK
from execution.running import results
from execution.status import RunStatus, TaskStatus
from execution.view import RunView, TaskView
from gateway_project.foundation.json_equality import equality_key

if TYPE_CHECKING:
    from execution.speculation.calls import SpeculativeRun

MS_PER_S: Final = 1_000
META_KEY: Final = "foregate/results"
"""Key in `_meta` of an answer of what servers say in that of their results, by task."""


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
    def meta(self) -> Any:
        """The `_meta` of the server's result; empty if there is none."""
        found = [raw.get("_meta") if raw else None for raw in self.raw_results]
        if not any(found):
            return {}
        return found if self.is_list else found[0]

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


def describe_meta(results: Iterable[TaskResults]) -> dict[str, Any]:
    """Return what servers say in the `_meta` of results, as part of an answer's."""
    found = {one.task: meta for one in results if (meta := one.meta)}
    return {META_KEY: found} if found else {}


def collect_speculative(run: SpeculativeRun) -> tuple[TaskResults, ...]:
    """Return the results of a workflow that was run ahead."""
    return tuple(
        TaskResults(task=task, raw_results=raw, is_list=task in run.lists, size_bytes=0)
        for task, raw in run.raw_results.items()
    )


def speculative_run_to_json(run: SpeculativeRun) -> dict[str, Any]:
    """Return results of a workflow that was run ahead, as those of a run; empty: none."""
    found = collect_speculative(run)
    if not found:
        return {}
    answer = {
        "status": (RunStatus.PARTIAL_SUCCESS if run.reasons else RunStatus.SUCCEEDED).value,
        "results": {one.task: one.value for one in found},
        "results_age_ms": round(MS_PER_S * run.took_s),
    }
    contents = {one.task: blocks for one in found if (blocks := one.extra_blocks)}
    return answer | ({"contents": contents} if contents else {})


def iterate_extra_blocks(raw: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the content blocks of a result that are not part of its value.

    Servers repeat structured content in their texts: as a whole, as the protocol recommends, or
    each part on its own, as the official SDKs do.

    Example:
        >>> picture = {"type": "image", "data": "", "mimeType": "image/png"}
        >>> raw = {"content": [{"type": "text", "text": "7"}, picture]}
        >>> list(iterate_extra_blocks(raw)) == [picture]
        True
    """
    structured = raw.get("structuredContent")
    parts = None if structured is None else _StructuredParts(structured)
    is_value_seen = False
    for block in results.list_blocks(raw):
        text = block.get("text") if isinstance(block, Mapping) else None
        if isinstance(text, str):
            if parts is not None and parts.contain(text):
                continue
            if parts is None and not is_value_seen:
                is_value_seen = True
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


class _StructuredParts:
    """What texts may repeat of structured content."""

    def __init__(self, structured: Any) -> None:
        self._structured = structured

    def contain(self, text: str) -> bool:
        """Whether a text is one of the structured texts, or the JSON of the whole or a part."""
        if text in self._texts:
            return True
        try:
            return equality_key(json.loads(text)) in self._keys
        except (ValueError, RecursionError):
            return False

    @cached_property
    def _texts(self) -> frozenset[str]:
        texts: set[str] = set()
        waiting = [self._structured]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                texts.add(value)
            elif isinstance(value, Mapping):
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value
        return frozenset(texts)

    @cached_property
    def _keys(self) -> frozenset[str]:
        """Keys of the whole, of its members, and of the items of those that are lists."""
        whole = self._structured
        members = whole.values() if isinstance(whole, Mapping) else [whole]
        items = [item for member in members if isinstance(member, list) for item in member]
        return frozenset(map(equality_key, (whole, *members, *items)))
