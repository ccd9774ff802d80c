"""Results of tasks in memory, for as long as unfinished tasks refer to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from execution.changes import WHOLE_TASK, TaskKey
from execution.planning.references import NO_ITEM, MediaRoot, resolve_references
from execution.running.results import ResultRoot
from execution.workflow import Workflow, WorkflowTask
from gateway_project.foundation.references import make_reference

MAX_BYTES: Final = 256 * 1024 * 1024
"""Approximate memory limit for the referenced results of a run."""


class RunTooLarge(Exception):
    """A referenced result was dropped because the run's results take too much memory."""

    code: ClassVar[str] = "run_too_large"

    def __init__(self, task: str) -> None:
        super().__init__(
            f"the result of task {task!r} is not at hand: the results that tasks still refer to "
            f"would take more than {MAX_BYTES // 1024**2} MB of memory; refer to less, or split "
            "the run"
        )


class ResultCache:
    """The in-memory values that references resolve to."""

    def __init__(self, workflow: Workflow, open_tasks: Iterable[str]) -> None:
        self.reference_counts: Counter[str] = Counter()
        """Unfinished tasks that refer to each task; only such results are kept."""
        self._task_values: dict[str, Any] = {}
        self._item_values: dict[str, dict[int, Any]] = {}
        self._sizes: Counter[str] = Counter()
        self._total_size = 0
        self._too_large: set[str] = set()
        self.replace_workflow(workflow, open_tasks)

    def replace_workflow(self, workflow: Workflow, open_tasks: Iterable[str]) -> None:
        """Continue with another workflow; results still referred to stay."""
        self.reference_counts.clear()
        self.reference_counts.update(
            reference for task in open_tasks for reference in workflow.by_id[task].references
        )
        self._too_large.clear()
        for task in {*self._task_values, *self._item_values}:
            self._drop_unused(task)

    def is_missing(self, task: str, items: Iterable[int]) -> bool:
        """Whether a referenced result could be loaded but is not in memory.

        Args:
            task: Its id.
            items: Its succeeded items; `WHOLE_TASK`: the whole result.
        """
        if task not in self.reference_counts or task in self._too_large:
            return False
        item_values = self._item_values.get(task, {})
        return any(
            task not in self._task_values if item == WHOLE_TASK else item not in item_values
            for item in items
        )

    def store_result(self, task: str, item: int, root: ResultRoot) -> None:
        """Store a result if it is referred to and fits."""
        if task not in self.reference_counts or task in self._too_large:
            return
        if self._total_size + root.size_bytes > MAX_BYTES:
            self._drop_task(task)
            self._too_large.add(task)
            return
        self._total_size += root.size_bytes
        self._sizes[task] += root.size_bytes
        if item == WHOLE_TASK:
            self._task_values[task] = root.value
        else:
            value = root.value.value if isinstance(root.value, MediaRoot) else root.value
            self._item_values.setdefault(task, {})[item] = value

    def join_items(self, task: str, items: Iterable[int] = ()) -> None:
        """Join item results into one list, in item order.

        Args:
            task: Its id.
            items: Required items; if one is missing, there is no list.
        """
        item_values = self._item_values.pop(task, {})
        is_whole = all(item in item_values for item in items)
        if task in self.reference_counts and is_whole and task not in self._too_large:
            self._task_values[task] = [item_values[item] for item in sorted(item_values)]
        else:
            self._free_size(task)

    def restore_results(self, roots: Mapping[TaskKey, ResultRoot]) -> None:
        """Store reloaded results; those not found stay missing."""
        for (task, item), root in roots.items():
            self.store_result(task, item, root)

    def release_task(self, task: WorkflowTask) -> None:
        """Release the references of a finished task."""
        for reference in task.references:
            self.reference_counts[reference] -= 1
            if self.reference_counts[reference] <= 0:
                del self.reference_counts[reference]
                self._drop_unused(reference)

    def estimate_size_bytes(self, tasks: Iterable[str]) -> int:
        """Return the approximate memory size of the results of tasks."""
        return sum(self._sizes[task] for task in tasks)

    def resolve(self, value: Any, *, item: Any = NO_ITEM) -> Any:
        """Resolve the references in a value, as `planning.references.resolve_references` does.

        Raises:
            MissingReferent: If a referenced value does not exist.
            RunTooLarge: If it was dropped for its size.
        """
        return resolve_references(value, results=self._get_task_value, item=item)

    def resolve_list(self, task: WorkflowTask) -> Any:
        """Return the list of a for-each task.

        Raises:
            MissingReferent: If it does not exist.
            RunTooLarge: If it was dropped for its size.
        """
        return None if task.for_each is None else self.resolve(make_reference(*task.for_each))

    def _get_task_value(self, task: str) -> Any:
        if task in self._too_large:
            raise RunTooLarge(task)
        return self._task_values[task]

    def _drop_unused(self, task: str) -> None:
        if task not in self.reference_counts:
            self._drop_task(task)
            self._too_large.discard(task)

    def _drop_task(self, task: str) -> None:
        self._task_values.pop(task, None)
        self._item_values.pop(task, None)
        self._free_size(task)

    def _free_size(self, task: str) -> None:
        self._total_size -= self._sizes.pop(task, 0)
