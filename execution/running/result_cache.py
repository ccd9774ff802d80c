"""What tasks gave, for as long as a task that is not done refers to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from execution.changes import WHOLE_TASK
from execution.planning.references import OUTSIDE_LISTS, resolve
from execution.running.results import Root
from execution.workflow import Task, Workflow
from graph.references import reference

Place = tuple[str, int]

MAX_BYTES: Final = 256 * 1024 * 1024
"""Memory that a run's results take which tasks still refer to, about."""


class RunTooLarge(Exception):
    """What a task refers to was not kept, since the run's results take too much memory."""

    code: ClassVar[str] = "run_too_large"

    def __init__(self, task: str) -> None:
        super().__init__(
            f"what task {task!r} gave is not at hand: the results that tasks still refer to would "
            f"take more than {MAX_BYTES // 1024**2} MB of memory; refer to less, or split the run"
        )


class Roots:
    """The values that references point into, in memory.

    Args:
        workflow: Of the run.
        open_tasks: Ids of the tasks that are not done.
    """

    def __init__(self, workflow: Workflow, open_tasks: Iterable[str]) -> None:
        self.users: Counter[str] = Counter()
        """How many tasks that are not done refer to a task; of no others results are kept."""
        self._whole: dict[str, Any] = {}
        self._items: dict[str, dict[int, Any]] = {}
        self._sizes: Counter[str] = Counter()
        self._size = 0
        self._too_large: set[str] = set()
        self.plan(workflow, open_tasks)

    def plan(self, workflow: Workflow, open_tasks: Iterable[str]) -> None:
        """Go by another workflow from now on; what is here stays if it is needed."""
        self.users.clear()
        self.users.update(one for task in open_tasks for one in workflow.by_id[task].references)
        self._too_large.clear()
        for task in {*self._whole, *self._items}:
            self._drop_unused(task)

    def lacks(self, task: str, items: Iterable[int]) -> bool:
        """Whether something refers to what calls of a task gave, and it could be here and is not.

        Args:
            task: Its id.
            items: Those of its calls that succeeded; `WHOLE_TASK`: all that it gave.
        """
        if task not in self.users or task in self._too_large:
            return False
        found = self._items.get(task, {})
        return any(
            task not in self._whole if item == WHOLE_TASK else item not in found for item in items
        )

    def keep(self, task: str, item: int, root: Root) -> None:
        """Keep what a call gave, if anything can refer to it and there is room."""
        if task not in self.users or task in self._too_large:
            return
        if self._size + root.size > MAX_BYTES:
            self._drop(task)
            self._too_large.add(task)
            return
        self._size += root.size
        self._sizes[task] += root.size
        if item == WHOLE_TASK:
            self._whole[task] = root.value
        else:
            self._items.setdefault(task, {})[item] = root.value

    def close(self, task: str, items: Iterable[int] = ()) -> None:
        """Make one list, in the order of items, of what the calls of a task gave.

        Args:
            task: Its id.
            items: That must be there; if one is not, there is no list.
        """
        found = self._items.pop(task, {})
        is_whole = all(item in found for item in items)
        if task in self.users and is_whole and task not in self._too_large:
            self._whole[task] = [found[item] for item in sorted(found)]
        else:
            self._free(task)

    def recalled(self, given: Mapping[Place, Root]) -> None:
        """Take what calls gave from where it was kept; what is not there stays missing."""
        for (task, item), root in given.items():
            self.keep(task, item, root)

    def released(self, task: Task) -> None:
        """Note that a task is done, so that it refers to nothing any more."""
        for one in task.references:
            self.users[one] -= 1
            if self.users[one] <= 0:
                del self.users[one]
                self._drop_unused(one)

    def resolve(self, value: Any, *, item: Any = OUTSIDE_LISTS) -> Any:
        """Return a value with its references replaced, as `planning.references.resolve` does.

        Raises:
            MissingReferent: If something is not there.
            RunTooLarge: If it was not kept.
        """
        return resolve(value, results=self._found, item=item)

    def list_of(self, task: Task) -> Any:
        """Return what a task runs for each of.

        Raises:
            MissingReferent: If it is not there.
            RunTooLarge: If it was not kept.
        """
        found = task.for_each
        return None if found is None else self.resolve(reference(found.task, found.pointer))

    def _found(self, task: str) -> Any:
        if task in self._too_large:
            raise RunTooLarge(task)
        return self._whole[task]

    def _drop_unused(self, task: str) -> None:
        if task not in self.users:
            self._drop(task)
            self._too_large.discard(task)

    def _drop(self, task: str) -> None:
        self._whole.pop(task, None)
        self._items.pop(task, None)
        self._free(task)

    def _free(self, task: str) -> None:
        self._size -= self._sizes.pop(task, 0)
