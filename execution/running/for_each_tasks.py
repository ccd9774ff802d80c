"""The for-each tasks of a run: open lists, and restored statuses of others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from execution.changes import TaskKey
from execution.running.for_each import LIST_STOPPED, ItemCalls, TooManyItems
from execution.status import TaskStatus

MAX_RUN_ITEMS: Final = 100_000
"""Items of all lists of a run; each is a call and a row."""


class ForEachTasks:
    """The for-each tasks of a run.

    Args:
        known_statuses: Statuses of begun items, by task.
        stopped_tasks: Tasks that begin no further call.
        keys: Tasks and items that have rows.
    """

    def __init__(
        self,
        known_statuses: dict[str, dict[int, TaskStatus]],
        stopped_tasks: set[str],
        keys: Collection[TaskKey] = (),
    ) -> None:
        self._known_statuses = known_statuses
        self._stopped_tasks = stopped_tasks
        self._open_lists: dict[str, ItemCalls] = {}
        self._sizes: dict[str, int] = {}
        for task, item in keys:
            self._sizes[task] = max(self._sizes.get(task, 0), item + 1)

    def __contains__(self, task: str) -> bool:
        return task in self._open_lists

    def __getitem__(self, task: str) -> ItemCalls:
        return self._open_lists[task]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._open_lists))

    def get(self, task: str) -> ItemCalls | None:
        """Return the calls of a task; None: its list is not open."""
        return self._open_lists.get(task)

    def open(self, task: str, values: list[Any]) -> ItemCalls:
        """Open a task's list: begin its calls, or continue them.

        Raises:
            TooManyItems: If the run would exceed `MAX_RUN_ITEMS`.
        """
        before = sum(self._sizes.values()) - self._sizes.get(task, 0)
        if before + len(values) > MAX_RUN_ITEMS:
            raise TooManyItems(
                f"the lists of a run may have at most {MAX_RUN_ITEMS:,} items in total; the "
                f"others have {before:,} and this one {len(values):,}: split the work into "
                "several runs"
            )
        self._sizes[task] = len(values)
        initial_status = TaskStatus.SKIPPED if task in self._stopped_tasks else TaskStatus.PENDING
        item_calls = ItemCalls(
            values, self._known_statuses.pop(task, {}), initial_status=initial_status
        )
        self._open_lists[task] = item_calls
        return item_calls

    def close(self, task: str, *, keeps: bool = False) -> None:
        """Close a task's list.

        Args:
            task: Its id.
            keeps: Whether to keep the statuses, so that the list can be continued.
        """
        item_calls = self._open_lists.pop(task)
        if keeps:
            self._known_statuses[task] = item_calls.map_statuses()

    def get_known_statuses(self, task: str) -> Mapping[int, TaskStatus]:
        """Return the known item statuses of a task whose list is not open."""
        return self._known_statuses.get(task, {})

    def note_status(self, task: str, item: int, status: TaskStatus) -> None:
        """Set an item's status in a task whose list is not open."""
        self._known_statuses[task][item] = status

    def forget_statuses(self, task: str) -> Mapping[int, TaskStatus]:
        """Drop and return the known item statuses of a task whose list is not open."""
        return self._known_statuses.pop(task, {})

    def find_items(self, task: str, status: TaskStatus) -> list[int]:
        """Return the items of a task with a status."""
        item_calls = self._open_lists.get(task)
        if item_calls is not None:
            return item_calls.find_items(status)
        return [item for item, now in self.get_known_statuses(task).items() if now is status]

    def list_begun(self) -> list[str]:
        """Return the begun tasks whose lists are not open."""
        return list(self._known_statuses)

    def has_status(self, status: TaskStatus) -> bool:
        """Whether any call of an open list has a status."""
        return any(item_calls.count_status(status) for item_calls in self._open_lists.values())

    def stop_task(self, task: str) -> None:
        """Let a task begin no further call."""
        self._stopped_tasks.add(task)

    def list_unstopped(self) -> list[str]:
        """Return the open tasks that are not stopped."""
        return [task for task in self._open_lists if task not in self._stopped_tasks]

    def get_stop_code(self, task: str) -> str:
        """Return the row code that marks a stopped task; empty: not stopped."""
        return LIST_STOPPED if task in self._stopped_tasks else ""
