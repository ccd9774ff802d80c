"""Which tasks of a run may start, which never will, and what the run has come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from execution.planning import order
from execution.status import RunStatus, TaskStatus
from execution.workflow import OnError, Options, Task, Workflow

_UNTOUCHED = (TaskStatus.PENDING, TaskStatus.SKIPPED)
_MOVING = (TaskStatus.PENDING, TaskStatus.RUNNING, TaskStatus.WAITING_APPROVAL)
_UNDONE = (*_MOVING, TaskStatus.UNKNOWN)
# Tuples, not sets: they compare identities, where a set calls the hash of an enumeration.


class Skipped(NamedTuple):
    """A task that will not be called, and the task because of which."""

    task: str
    because: str


class Schedule:
    """The ready set of a workflow: a task is ready once all that it waits for has ended well.

    O(tasks + waits) over a whole run; each task becomes ready, and ends, once.

    Args:
        workflow: Without cycles.
        options: What failures mean, and whether layers are opened one by one.
        statuses: How tasks stand that have begun or ended.
        is_lost: Whether a task that is pending was begun before; it is not dropped.

    References:
        Kahn, Topological sorting of large networks, CACM 5 (1962).
    """

    def __init__(
        self,
        workflow: Workflow,
        options: Options,
        statuses: Mapping[str, TaskStatus],
        *,
        is_lost: Callable[[str], bool] = lambda _task: False,
    ) -> None:
        self.tasks: Mapping[str, Task] = workflow.by_id
        self.status = {task: statuses.get(task, TaskStatus.PENDING) for task in self.tasks}
        self._moving = sum(now in _MOVING for now in self.status.values())
        self._is_by_layer = options.per_layer_validation
        self.is_stopped = False
        self._on_error = options.on_error
        self._is_lost = is_lost
        self._dependants = _dependants(workflow)
        self._left = {task.id: len(task.waits_for) for task in workflow.tasks}
        self._ready: list[str] = []
        self._layer: dict[str, int] = {}
        self._undone = [0]
        self._opened = 0
        if self._is_by_layer:
            self._place_in_layers(workflow)

    def catch_up(self) -> list[Skipped]:
        """Take into account how tasks stand from the start; call it once, before anything else."""
        skipped: list[Skipped] = []
        self._ready += [task for task, left in self._left.items() if not left]
        for task in [task for task, now in self.status.items() if now not in _UNDONE]:
            skipped += self._release(task)
        self._ready = [task for task in self._ready if self.status[task] is TaskStatus.PENDING]
        return skipped

    def take_ready(self) -> list[str]:
        """Return the tasks that have become ready since the last time, and may start by layer."""
        if not self._ready or not self._is_by_layer:
            ready, self._ready = self._ready, []
            return ready
        ready = [task for task in self._ready if self._layer[task] <= self._opened]
        self._ready = [task for task in self._ready if self._layer[task] > self._opened]
        return ready

    def policy(self, task: str) -> OnError:
        """Return what a failure of a task means."""
        return self.tasks[task].on_error or self._on_error

    def set(self, task: str, status: TaskStatus) -> None:
        """Note how a task stands that has not ended."""
        before = self.status[task]
        self.status[task] = status
        self._moving += (status in _MOVING) - (before in _MOVING)
        if self._is_by_layer:
            self._undone[self._layer[task]] += (status in _UNDONE) - (before in _UNDONE)

    def begin(self, task: str) -> None:
        """Note that a task runs that was ready: it moves, and is undone, as before."""
        self.status[task] = TaskStatus.RUNNING

    def again(self, task: str) -> None:
        """Make a task ready that was begun, waited, or was lost."""
        self.set(task, TaskStatus.PENDING)
        self._ready.append(task)

    def end(self, task: str, status: TaskStatus) -> list[Skipped]:
        """Note how a task ended; return the tasks that are skipped for it, in order."""
        self.set(task, status)
        if status is TaskStatus.FAILED and self.policy(task) is OnError.STOP:
            return self.stop(task)
        return self._release(task)

    def stop(self, because: str) -> list[Skipped]:
        """Start nothing more; return the tasks that are skipped for it, in order."""
        self.is_stopped = True
        return [Skipped(task, because) for task in self.drop(TaskStatus.SKIPPED)]

    def drop(self, status: TaskStatus) -> list[str]:
        """Give all tasks that were never begun a status in which they never start."""
        dropped = [
            task
            for task, now in self.status.items()
            if now in (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL) and not self._is_lost(task)
        ]
        for task in dropped:
            self.set(task, status)
        self._ready = [task for task in self._ready if self._is_lost(task)]
        return dropped

    @property
    def is_settled(self) -> bool:
        """Whether no task will start or end any more, short of a person's word."""
        return not self._moving

    def has(self, status: TaskStatus) -> bool:
        """Whether any task has a status. O(tasks)."""
        return status in self.status.values()

    @property
    def is_layer_complete(self) -> bool:
        """Whether all of the open layers has ended, and something of a later one has not."""
        return not any(self._undone[: self._opened + 1]) and any(self._undone)

    @property
    def layer(self) -> int:
        """Number of the newest open layer, from 1."""
        return self._opened + 1

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self._undone)

    def open_next(self) -> None:
        """Let the tasks of the next layer start that has any left, if the open ones are done."""
        while self.is_layer_complete:
            self._opened += 1

    def verdict(self) -> RunStatus:
        """Return what a run has come to whose tasks are settled."""
        if self.has(TaskStatus.UNKNOWN):
            return RunStatus.UNKNOWN
        if self.is_stopped:
            return RunStatus.FAILED
        if all(
            status is TaskStatus.SUCCEEDED or self.policy(task) is OnError.SAFE_TO_FAIL
            for task, status in self.status.items()
        ):
            return RunStatus.SUCCEEDED
        if self.has(TaskStatus.SUCCEEDED):
            return RunStatus.PARTIAL_SUCCESS
        return RunStatus.FAILED

    def _place_in_layers(self, workflow: Workflow) -> None:
        """Give each task its layer; the newest open one is the latest that has been begun."""
        found = order.layers({task.id: task.waits_for for task in workflow.tasks})
        self._layer = {task: number for number, layer in enumerate(found) for task in layer}
        self._undone = [sum(not self.status[task].is_done for task in layer) for layer in found]
        begun = [
            self._layer[task]
            for task, now in self.status.items()
            if now not in _UNTOUCHED or (now is TaskStatus.PENDING and self._is_lost(task))
        ]
        self._opened = max(begun, default=0)

    def _release(self, ended: str) -> list[Skipped]:
        """Let go of what waited for a task that has ended, or skip it, and so on."""
        status, left, pending = self.status, self._left, TaskStatus.PENDING
        skipped: list[Skipped] = []
        ends = [ended]
        for cause in ends:
            went_well = status[cause] is TaskStatus.SUCCEEDED
            is_harmless = went_well or self.policy(cause) is OnError.SAFE_TO_FAIL
            for task, is_referring in self._dependants[cause]:
                if status[task] is not pending:
                    continue
                if went_well or (is_harmless and not is_referring):
                    left[task] -= 1
                    if not left[task]:
                        self._ready.append(task)
                else:
                    self.set(task, TaskStatus.SKIPPED)
                    skipped.append(Skipped(task, cause))
                    ends.append(task)
        return skipped


def _dependants(workflow: Workflow) -> dict[str, list[tuple[str, bool]]]:
    """Return the tasks that wait for each, and whether for what it gives."""
    dependants: dict[str, list[tuple[str, bool]]] = {task.id: [] for task in workflow.tasks}
    for task in workflow.tasks:
        referred = frozenset(task.references)
        for one in task.waits_for:
            dependants[one].append((task.id, one in referred))
    return dependants
