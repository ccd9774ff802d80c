"""The calls of a task that runs for each item of a list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final

from execution.status import TaskStatus

MAX_ITEMS: Final = 10_000
"""Each is a call and a row of its own; a task that needs more works on slices."""
FAILED: Final = "item_failed"
"""Code of a task of which the call for an item failed."""
STOPPED: Final = "stopped"
"""Code of a task with calls under way, or of which nobody knows how they ended, that begins no
further item; so that a process that takes the run over begins none either."""


_OPEN: Final = (TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.WAITING_APPROVAL)


class NotAList(Exception):
    """What a task is to run for each item of is no list, or too long a one."""

    code: ClassVar[str] = "not_a_list"


class TooManyItems(NotAList):
    """A task is to run for more items than one run carries."""

    code = "too_many_items"


def items_of(value: Any) -> list[Any]:
    """Return what a task runs for each of.

    Raises:
        NotAList: If it is something else.
        TooManyItems: If there are too many.
    """
    if not isinstance(value, list | tuple):
        raise NotAList(
            f"for_each needs a list, but its reference leads to {_KINDS.get(type(value), 'null')}"
        )
    if len(value) > MAX_ITEMS:
        raise TooManyItems(
            f"for_each takes at most {MAX_ITEMS:,} items and its list has {len(value):,}; "
            "split the work into several runs"
        )
    return list(value)


_KINDS: Mapping[type, str] = {
    dict: "an object",
    str: "a text",
    bool: "a truth value",
    int: "a number",
    float: "a number",
}


class ItemCalls:
    """How the calls of one task stand, one for each item.

    Args:
        values: The items.
        statuses: How those stand that have begun or ended.
        others: How all others stand.
    """

    def __init__(
        self,
        values: list[Any],
        statuses: Mapping[int, TaskStatus],
        *,
        others: TaskStatus = TaskStatus.PENDING,
    ) -> None:
        self.values = values
        self._status = [statuses.get(n, others) for n in range(len(values))]
        self._counts = Counter(self._status)
        self._first_failure: tuple[int, str] | None = None

    def where(self, status: TaskStatus) -> list[int]:
        """Return the items of a status."""
        return [n for n, now in enumerate(self._status) if now is status]

    def status(self, item: int) -> TaskStatus:
        """Return how the call for an item stands."""
        return self._status[item]

    def set(self, item: int, status: TaskStatus) -> None:
        """Note how the call for an item stands."""
        self._counts[self._status[item]] -= 1
        self._counts[status] += 1
        self._status[item] = status

    def end(self, item: int, status: TaskStatus, message: str = "") -> None:
        """Note how the call for an item ended, and if it failed, why."""
        self.set(item, status)
        if status is TaskStatus.FAILED and self._first_failure is None:
            self._first_failure = (item, message)

    def unended(self) -> list[int]:
        """Return the items whose calls are to be made, or wait for a person."""
        return self.where(TaskStatus.PENDING) + self.where(TaskStatus.WAITING_APPROVAL)

    def stop(self, status: TaskStatus, *, kept: Collection[int] = ()) -> list[int]:
        """Give a status to the items that were not begun, but for some; return them."""
        left = [item for item in self.unended() if item not in kept]
        for item in left:
            self.set(item, status)
        return left

    def statuses(self) -> dict[int, TaskStatus]:
        """Return how the calls stand, by item."""
        return dict(enumerate(self._status))

    def count(self, status: TaskStatus) -> int:
        """Return how many items have a status."""
        return self._counts[status]

    @property
    def comes_to(self) -> TaskStatus | None:
        """What the task has come to; None while a call is under way, to be made or to be decided.

        Failed if any call failed; unknown if of any nobody knows how it ended; cancelled if it
        was stopped before the last item.
        """
        counts = self._counts
        if any(counts[status] for status in _OPEN):
            return None
        if counts[TaskStatus.UNKNOWN]:
            return TaskStatus.UNKNOWN
        if counts[TaskStatus.FAILED]:
            return TaskStatus.FAILED
        if counts[TaskStatus.SUCCEEDED] == len(self.values):
            return TaskStatus.SUCCEEDED
        return TaskStatus.CANCELLED

    def failure(self) -> str:
        """Say in one line how many calls failed, and of one why."""
        failures = self._counts[TaskStatus.FAILED]
        said = f"{failures:,} of {len(self.values):,} items failed"
        if self._first_failure is None:
            return said
        item, message = self._first_failure
        return f"{said}; item {item}: {message}"
