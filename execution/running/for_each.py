"""The calls of a for-each task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final

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
