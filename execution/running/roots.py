"""What tasks gave, for as long as a task that is not done refers to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from execution.changes import WHOLE_TASK
from execution.planning.references import NO_ITEM, resolve
from execution.running import results
from execution.workflow import Task, Workflow
from graph.references import reference

Place = tuple[str, int]


class Roots:
    """The values that references point into, in memory.

    Args:
        workflow: Of the run.
        open_tasks: Ids of the tasks that are not done.
        keeps_all: Whether to keep what nothing refers to, since nothing brings it back.
    """

    def __init__(self, workflow: Workflow, open_tasks: Iterable[str], *, keeps_all: bool) -> None:
        self._keeps_all = keeps_all
        self._whole: dict[str, Any] = {}
        self._items: dict[str, dict[int, Any]] = {}
        self.plan(workflow, open_tasks)

    def plan(self, workflow: Workflow, open_tasks: Iterable[str]) -> None:
        """Go by another workflow from now on; what is here stays if it is needed."""
        self._users = Counter(
            one for task in open_tasks for one in workflow.by_id[task].references
        )
        if not self._keeps_all:
            for task in [*self._whole, *self._items]:
                self._drop_unused(task)

    def lacks(self, task: str, items: Iterable[int]) -> bool:
        """Whether something refers to what calls of a task gave, and it is not here.

        Args:
            task: Its id.
            items: Those of its calls that succeeded; `WHOLE_TASK`: all that it gave.
        """
        if not self._users[task]:
            return False
        found = self._items.get(task, {})
        return any(
            task not in self._whole if item == WHOLE_TASK else item not in found for item in items
        )

    def keep(self, task: str, item: int, result: Mapping[str, Any]) -> None:
        """Keep what a call gave, if anything can refer to it."""
        if not (self._keeps_all or self._users[task]):
            return
        if item == WHOLE_TASK:
            self._whole[task] = results.root(result)
        else:
            self._items.setdefault(task, {})[item] = results.root(result)

    def close(self, task: str, items: Iterable[int] = ()) -> None:
        """Make one list, in the order of items, of what the calls of a task gave.

        Args:
            task: Its id.
            items: That must be there; if one is not, there is no list.
        """
        found = self._items.pop(task, {})
        if (self._keeps_all or self._users[task]) and all(item in found for item in items):
            self._whole[task] = [found[item] for item in sorted(found)]

    def recalled(self, given: Mapping[Place, Mapping[str, Any]]) -> None:
        """Take what calls gave from where it was kept; what is not there stays missing."""
        for (task, item), result in given.items():
            self.keep(task, item, result)

    def released(self, task: Task) -> None:
        """Note that a task is done, so that it refers to nothing any more."""
        for one in task.references:
            self._users[one] -= 1
            if not self._keeps_all:
                self._drop_unused(one)

    def resolve(self, value: Any, *, item: Any = NO_ITEM) -> Any:
        """Return a value with its references replaced, as `planning.references.resolve` does.

        Raises:
            MissingReferent: If something is not there.
        """
        return resolve(value, results=self._whole.__getitem__, item=item)

    def list_of(self, task: Task) -> Any:
        """Return what a task runs for each of.

        Raises:
            MissingReferent: If it is not there.
        """
        found = task.for_each
        return None if found is None else self.resolve(reference(found.task, found.pointer))

    def _drop_unused(self, task: str) -> None:
        if self._users[task] <= 0:
            self._whole.pop(task, None)
            self._items.pop(task, None)
