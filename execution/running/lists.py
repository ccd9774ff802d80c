"""The lists of a run: of which calls are under way, and what is known of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from execution.running.for_each import STOPPED, ItemCalls, TooManyItems
from execution.status import TaskStatus

Place = tuple[str, int]

MAX_ITEMS_OF_RUN: Final = 100_000
"""Items of all lists of a run together; each is a call, and a row of its own."""


class Lists:
    """The tasks of a run that run for each item of a list.

    Args:
        known: How items stand of which calls were begun, by task.
        stopped: Tasks of which no further call is begun.
        places: Tasks and items that have rows.
    """

    def __init__(
        self,
        known: dict[str, dict[int, TaskStatus]],
        stopped: set[str],
        places: Collection[Place] = (),
    ) -> None:
        self._known = known
        self._stopped = stopped
        self._open: dict[str, ItemCalls] = {}
        self._sizes: dict[str, int] = {}
        for task, item in places:
            self._sizes[task] = max(self._sizes.get(task, 0), item + 1)

    def __contains__(self, task: str) -> bool:
        return task in self._open

    def __getitem__(self, task: str) -> ItemCalls:
        return self._open[task]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._open))

    def get(self, task: str) -> ItemCalls | None:
        """Return the calls of a task; None: they are not under way."""
        return self._open.get(task)

    def open(self, task: str, values: list[Any]) -> ItemCalls:
        """Begin the calls of a task, or go on with them.

        Raises:
            TooManyItems: If a run does not carry as many.
        """
        before = sum(self._sizes.values()) - self._sizes.get(task, 0)
        if before + len(values) > MAX_ITEMS_OF_RUN:
            raise TooManyItems(
                f"all lists of a run have at most {MAX_ITEMS_OF_RUN:,} items together; its "
                f"others have {before:,} and this one {len(values):,}: split the work into "
                "several runs"
            )
        self._sizes[task] = len(values)
        begins = TaskStatus.SKIPPED if task in self._stopped else TaskStatus.PENDING
        calls = ItemCalls(values, self._known.pop(task, {}), others=begins)
        self._open[task] = calls
        return calls

    def close(self, task: str, *, keeps: bool = False) -> None:
        """Go on with the calls of a task no more.

        Args:
            task: Its id.
            keeps: Whether to know how they stand, so that they can be gone on with.
        """
        calls = self._open.pop(task)
        if keeps:
            self._known[task] = calls.statuses()

    def known(self, task: str) -> Mapping[int, TaskStatus]:
        """Return how the calls stand of a task that is not under way, as far as is known."""
        return self._known.get(task, {})

    def note(self, task: str, item: int, status: TaskStatus) -> None:
        """Note how a call stands of a task that is not under way."""
        self._known[task][item] = status

    def forget(self, task: str) -> Mapping[int, TaskStatus]:
        """Go on with a task that is not under way never more; return how its calls stand."""
        return self._known.pop(task, {})

    def where(self, task: str, status: TaskStatus) -> list[int]:
        """Return the items of a task whose calls have a status."""
        calls = self._open.get(task)
        if calls is not None:
            return calls.where(status)
        return [item for item, now in self.known(task).items() if now is status]

    def begun(self) -> list[str]:
        """Return the tasks of which calls were begun and which are not under way."""
        return list(self._known)

    def has(self, status: TaskStatus) -> bool:
        """Whether a call that is under way, or is to be made, has a status."""
        return any(calls.count(status) for calls in self._open.values())

    def stop(self, task: str) -> None:
        """Note that no further call of a task is begun."""
        self._stopped.add(task)

    def going_on(self) -> list[str]:
        """Return the tasks of which further calls are begun."""
        return [task for task in self._open if task not in self._stopped]

    def mark(self, task: str) -> str:
        """Return the code of a task's row that tells whether it begins no further call."""
        return STOPPED if task in self._stopped else ""
