"""The calls of a for-each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar, Final

from execution.changes import TaskKey
from execution.status import TaskStatus

MAX_ITEMS: Final = 10_000
"""Items per task; each is a call and a row. A task that needs more works on slices."""
ITEM_FAILED: Final = "item_failed"
"""Code of a for-each task with a failed item."""
LIST_STOPPED: Final = "stopped"
"""Code of a for-each task, still running or with unknown outcomes, that begins no further item; a
process that claims the run must begin none either."""


_UNFINISHED_STATUSES: Final = (TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.WAITING_APPROVAL)


class NotAList(Exception):
    """The `for_each` value is not a list, or is too long."""

    code: ClassVar[str] = "not_a_list"


class TooManyItems(NotAList):
    """The list has more items than a task or run may have."""

    code = "too_many_items"


def require_list_items(value: Any) -> list[Any]:
    """Return the value as the item list of a task.

    Raises:
        NotAList: If it is not a list.
        TooManyItems: If it is too long.
    """
    if not isinstance(value, list | tuple):
        raise NotAList(
            "for_each needs a list, but its reference yields "
            f"{_TYPE_NAMES.get(type(value), 'null')}"
        )
    if len(value) > MAX_ITEMS:
        raise TooManyItems(
            f"for_each takes at most {MAX_ITEMS:,} items and its list has {len(value):,}; "
            "split the work into several runs"
        )
    return list(value)


_TYPE_NAMES: Mapping[type, str] = {
    dict: "an object",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


class ItemCalls:
    """The states of a task's calls, one per item.

    Args:
        values: The items.
        statuses: Statuses of items that have begun or ended.
        initial_status: Status of all other items.
    """

    def __init__(
        self,
        values: list[Any],
        statuses: Mapping[int, TaskStatus],
        *,
        initial_status: TaskStatus = TaskStatus.PENDING,
    ) -> None:
        self.values = values
        self._statuses = [statuses.get(n, initial_status) for n in range(len(values))]
        self._counts = Counter(self._statuses)
        self._first_failure: tuple[int, str] | None = None

    def find_items(self, status: TaskStatus) -> list[int]:
        """Return the items with a status."""
        return [n for n, now in enumerate(self._statuses) if now is status]

    def get_status(self, item: int) -> TaskStatus:
        """Return the status of an item."""
        return self._statuses[item]

    def set_status(self, item: int, status: TaskStatus) -> None:
        """Set the status of an item."""
        self._counts[self._statuses[item]] -= 1
        self._counts[status] += 1
        self._statuses[item] = status

    def end_item(self, item: int, status: TaskStatus, message: str = "") -> None:
        """Set the final status of an item, and why it failed."""
        self.set_status(item, status)
        if status is TaskStatus.FAILED and self._first_failure is None:
            self._first_failure = (item, message)

    def find_unstarted(self) -> list[int]:
        """Return the items that are pending or wait for approval."""
        return self.find_items(TaskStatus.PENDING) + self.find_items(TaskStatus.WAITING_APPROVAL)

    def stop_unstarted(self, status: TaskStatus, *, excluded: Collection[int] = ()) -> list[int]:
        """Set the status of all unstarted items except some; return them."""
        left = [item for item in self.find_unstarted() if item not in excluded]
        for item in left:
            self.set_status(item, status)
        return left

    def map_statuses(self) -> dict[int, TaskStatus]:
        """Return the statuses by item."""
        return dict(enumerate(self._statuses))

    def count_status(self, status: TaskStatus) -> int:
        """Return the number of items with a status."""
        return self._counts[status]

    @property
    def final_status(self) -> TaskStatus | None:
        """The final status of the task; None while any item is unfinished.

        Unknown if any outcome is unknown, else failed if any call failed, else cancelled if any
        call was; skipped if it was stopped before the last item.
        """
        counts = self._counts
        if any(counts[status] for status in _UNFINISHED_STATUSES):
            return None
        if counts[TaskStatus.UNKNOWN]:
            return TaskStatus.UNKNOWN
        if counts[TaskStatus.FAILED]:
            return TaskStatus.FAILED
        if counts[TaskStatus.SUCCEEDED] == len(self.values):
            return TaskStatus.SUCCEEDED
        return TaskStatus.CANCELLED if counts[TaskStatus.CANCELLED] else TaskStatus.SKIPPED

    def describe_stop(self) -> str:
        """Describe in one line how far a stopped list came."""
        done = self._counts[TaskStatus.SUCCEEDED]
        return f"the run stopped after {done:,} of {len(self.values):,} items"

    def describe_failure(self) -> str:
        """Describe in one line how many items failed, and why the first did."""
        failures = self._counts[TaskStatus.FAILED]
        summary = f"{failures:,} of {len(self.values):,} items failed"
        if self._first_failure is None:
            return summary
        item, message = self._first_failure
        return f"{summary}; item {item}: {message}"


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
