"""The scheduler: which tasks may start, which are skipped, and the final status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from execution.planning import order
from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError, RunOptions, Workflow, WorkflowTask

_UNSTARTED_STATUSES = (TaskStatus.PENDING, TaskStatus.SKIPPED)
_UNSETTLED_STATUSES = (TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.WAITING_APPROVAL)
_UNFINISHED_STATUSES = (*_UNSETTLED_STATUSES, TaskStatus.UNKNOWN)
# Tuples, not sets: membership compares identity first, while a set hashes the enum member.


class SkippedTask(NamedTuple):
    """A task that will not be called, and the task that caused it."""

    task: str
    cause: str


class Schedule:
    """The ready set of a workflow: a task is ready once everything it waits for has succeeded.

    O(tasks + dependencies) over a whole run; each task becomes ready, and ends, once.

    Args:
        workflow: Without cycles.
        options: The failure policy, and whether layers open one by one.
        statuses: Statuses of tasks that have begun or ended.
        is_lost: Whether a pending task was begun before; it is not dropped.

    References:
        Kahn, Topological sorting of large networks, CACM 5 (1962).
    """

    def __init__(
        self,
        workflow: Workflow,
        options: RunOptions,
        statuses: Mapping[str, TaskStatus],
        *,
        is_lost: Callable[[str], bool] = lambda _task: False,
    ) -> None:
        self.tasks: Mapping[str, WorkflowTask] = workflow.by_id
        self.statuses = {task: statuses.get(task, TaskStatus.PENDING) for task in self.tasks}
        self._unsettled_count = sum(
            status in _UNSETTLED_STATUSES for status in self.statuses.values()
        )
        self._is_by_layer = options.per_layer_validation
        self.is_stopped = False
        self._on_error = options.on_error
        self._is_lost = is_lost
        self._dependants = _map_dependants(workflow)
        self._open_dependencies = {task.id: len(task.waits_for) for task in workflow.tasks}
        self._ready: list[str] = []
        self._layer_of: dict[str, int] = {}
        self._undone_counts = [0]
        self._open_layer = 0
        if self._is_by_layer:
            self._assign_layers(workflow)

    def catch_up(self) -> list[SkippedTask]:
        """Apply the initial statuses; call once, before anything else."""
        skipped: list[SkippedTask] = []
        self._ready += [task for task, left in self._open_dependencies.items() if not left]
        for task in [
            task for task, status in self.statuses.items() if status not in _UNFINISHED_STATUSES
        ]:
            skipped += self._release_dependants(task)
        self._ready = [task for task in self._ready if self.statuses[task] is TaskStatus.PENDING]
        return skipped

    def take_ready(self) -> list[str]:
        """Return the tasks that became ready since the last call and whose layer is open."""
        if not self._ready or not self._is_by_layer:
            ready, self._ready = self._ready, []
            return ready
        ready = [task for task in self._ready if self._layer_of[task] <= self._open_layer]
        self._ready = [task for task in self._ready if self._layer_of[task] > self._open_layer]
        return ready

    def get_policy(self, task: str) -> OnError:
        """Return a task's failure policy."""
        return self.tasks[task].on_error or self._on_error

    def set_status(self, task: str, status: TaskStatus) -> None:
        """Set the status of a task that has not ended."""
        before = self.statuses[task]
        self.statuses[task] = status
        self._unsettled_count += (status in _UNSETTLED_STATUSES) - (before in _UNSETTLED_STATUSES)
        if self._is_by_layer:
            self._undone_counts[self._layer_of[task]] += (status in _UNFINISHED_STATUSES) - (
                before in _UNFINISHED_STATUSES
            )

    def begin_task(self, task: str) -> None:
        """Mark a ready task as running; its layer and settled counts do not change."""
        self.statuses[task] = TaskStatus.RUNNING

    def requeue_task(self, task: str) -> None:
        """Make a task ready again that was begun, waited, or was lost."""
        self.set_status(task, TaskStatus.PENDING)
        self._ready.append(task)

    def end_task(self, task: str, status: TaskStatus) -> list[SkippedTask]:
        """End a task; return the tasks skipped because of it, in order."""
        self.set_status(task, status)
        if status is TaskStatus.FAILED and self.get_policy(task) is OnError.STOP:
            return self.stop_all(task)
        return self._release_dependants(task)

    def stop_all(self, because: str) -> list[SkippedTask]:
        """Stop scheduling; return the tasks skipped because of it, in order."""
        self.is_stopped = True
        return [SkippedTask(task, because) for task in self.drop_unstarted(TaskStatus.SKIPPED)]

    def drop_unstarted(self, status: TaskStatus) -> list[str]:
        """Give all unstarted tasks a final status; return them."""
        dropped = [
            task
            for task, current in self.statuses.items()
            if current in (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL)
            and not self._is_lost(task)
        ]
        for task in dropped:
            self.set_status(task, status)
        self._ready = [task for task in self._ready if self._is_lost(task)]
        return dropped

    @property
    def is_settled(self) -> bool:
        """Whether no task will start or end without a person's decision."""
        return not self._unsettled_count

    def has_status(self, status: TaskStatus) -> bool:
        """Whether any task has a status. O(tasks)."""
        return status in self.statuses.values()

    @property
    def is_layer_complete(self) -> bool:
        """Whether all open layers have ended and a later one has not."""
        return not any(self._undone_counts[: self._open_layer + 1]) and any(self._undone_counts)

    @property
    def current_layer(self) -> int:
        """Number of the latest open layer, from 1."""
        return self._open_layer + 1

    @property
    def layer_count(self) -> int:
        """Number of layers."""
        return len(self._undone_counts)

    def open_next_layer(self) -> None:
        """Open the next unfinished layer if all open ones are complete."""
        while self.is_layer_complete:
            self._open_layer += 1

    def list_next_layer(self) -> list[str]:
        """Return the tasks that start if the next layer is opened; none if no layer is complete.

        O(tasks).
        """
        if not self.is_layer_complete:
            return []
        ready = [task for task in self._ready if self.statuses[task] is TaskStatus.PENDING]
        following = min((self._layer_of[task] for task in ready), default=0)
        return [task for task in ready if self._layer_of[task] == following]

    def derive_final_status(self) -> RunStatus:
        """Return the final status of a run whose tasks are settled."""
        if self.has_status(TaskStatus.UNKNOWN):
            return RunStatus.UNKNOWN
        if self.is_stopped:
            return RunStatus.FAILED
        if not self.has_status(TaskStatus.SUCCEEDED):
            return RunStatus.FAILED
        if all(
            status is TaskStatus.SUCCEEDED or self._is_allowed_failure(task)
            for task, status in self.statuses.items()
        ):
            return RunStatus.SUCCEEDED
        return RunStatus.PARTIAL_SUCCESS

    def _is_allowed_failure(self, task: str) -> bool:
        """Whether a task failed and was allowed to; a skipped one has not even been tried."""
        return (
            self.statuses[task] is TaskStatus.FAILED
            and self.get_policy(task) is OnError.SAFE_TO_FAIL
        )

    def _assign_layers(self, workflow: Workflow) -> None:
        """Assign layers; the latest layer with a begun task is open."""
        layers = order.group_layers({task.id: task.waits_for for task in workflow.tasks})
        self._layer_of = {task: number for number, layer in enumerate(layers) for task in layer}
        self._undone_counts = [
            sum(not self.statuses[task].is_done for task in layer) for layer in layers
        ]
        begun = [
            self._layer_of[task]
            for task, status in self.statuses.items()
            if status not in _UNSTARTED_STATUSES
            or (status is TaskStatus.PENDING and self._is_lost(task))
        ]
        self._open_layer = max(begun, default=0)

    def _release_dependants(self, ended: str) -> list[SkippedTask]:
        """Release or skip the dependants of an ended task, transitively."""
        status, left, pending = self.statuses, self._open_dependencies, TaskStatus.PENDING
        skipped: list[SkippedTask] = []
        ends = [ended]
        for cause in ends:
            went_well = status[cause] is TaskStatus.SUCCEEDED
            is_harmless = went_well or self._is_allowed_failure(cause)
            for task, is_referring in self._dependants[cause]:
                if status[task] is not pending:
                    continue
                if went_well or (is_harmless and not is_referring):
                    left[task] -= 1
                    if not left[task]:
                        self._ready.append(task)
                else:
                    self.set_status(task, TaskStatus.SKIPPED)
                    skipped.append(SkippedTask(task, cause))
                    ends.append(task)
        return skipped


def _map_dependants(workflow: Workflow) -> dict[str, list[tuple[str, bool]]]:
    """Return each task's dependants, and whether each refers to its result."""
    dependants: dict[str, list[tuple[str, bool]]] = {task.id: [] for task in workflow.tasks}
    for task in workflow.tasks:
        referred = frozenset(task.references)
        for dependency in task.waits_for:
            dependants[dependency].append((task.id, dependency in referred))
    return dependants
