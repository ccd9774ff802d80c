"""What the executor makes of how a run stood when it was taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from uuid import UUID

from execution.call import Leave, Prepared
from execution.changes import WHOLE_TASK
from execution.running import for_each
from execution.running.failure import ApprovalUnusable
from execution.running.standing import Place, Standing, TaskStanding
from execution.running.task_changes import Cause
from execution.status import TaskStatus
from execution.workflow import OnError


class Asked(NamedTuple):
    """A call that a person is asked about, and their approval once it is given."""

    definition_hash: str
    arguments_digest: str
    approval: UUID | None = None

    def leave(self, prepared: Prepared) -> Leave | None:
        """Return the approval, for the call that is to be made; None: it was not given.

        Raises:
            ApprovalUnusable: If another call was approved.
        """
        if self.approval is None:
            return None
        if self[:2] != (prepared.definition_hash, prepared.arguments_digest):
            raise ApprovalUnusable
        return Leave(
            approval=self.approval,
            tool=prepared.tool,
            definition_hash=prepared.definition_hash,
            arguments_digest=prepared.arguments_digest,
        )


@dataclass(frozen=True, kw_only=True)
class Taken:
    """How the calls of a run stand that was taken.

    Attributes:
        tasks: Status of tasks; one with a list is running if any of its calls was begun.
        items: Status of the calls of tasks with a list, by item.
        asked: Calls that a person is asked about, or has approved.
        lost: Calls that were under way, and nobody knows how they ended.
        stopped: Tasks with a list of which no further call is begun.
        cause: The first failure that counts, one that stops a run before any other; None: none.
        is_stopped: Whether that stopped the run.
    """

    tasks: dict[str, TaskStatus] = field(default_factory=dict)
    items: dict[str, dict[int, TaskStatus]] = field(default_factory=dict)
    asked: dict[Place, Asked] = field(default_factory=dict)
    lost: list[Place] = field(default_factory=list)
    stopped: set[str] = field(default_factory=set)
    cause: Cause | None = None
    is_stopped: bool = False


_STAYS: Final = frozenset(status for status in TaskStatus if status.is_done) | {TaskStatus.UNKNOWN}


def take(standing: Standing) -> Taken:
    """Return how the calls of a run stand."""
    taken = Taken()
    for place, known in standing.tasks.items():
        planned = standing.workflow.by_id.get(place[0])
        if planned is None:
            continue
        if planned.for_each is not None and place[1] == WHOLE_TASK:
            taken.tasks[place[0]] = known.status
            if known.error_code == for_each.STOPPED:
                taken.stopped.add(place[0])
            if known.status is TaskStatus.RUNNING:
                taken.items.setdefault(place[0], {})
        else:
            _take_call(taken, place, known)
    for task in taken.items:
        if taken.tasks.get(task) not in _STAYS:
            taken.tasks[task] = TaskStatus.RUNNING
    return _with_failure(taken, standing)


def _with_failure(taken: Taken, standing: Standing) -> Taken:
    """Return how calls stand, with what has failed of them."""
    failures = sorted(_failures(standing), key=lambda one: one[0] is not OnError.STOP)
    if not failures:
        return taken
    policy, cause = failures[0]
    stops = policy is OnError.STOP and not _has_more(standing, taken)
    return replace(taken, cause=cause, is_stopped=stops)


def _failures(standing: Standing) -> Iterator[tuple[OnError, Cause]]:
    """Yield the failures that count, with what they mean."""
    for (task, _), known in standing.tasks.items():
        planned = standing.workflow.by_id.get(task)
        if planned is None or known.status is not TaskStatus.FAILED:
            continue
        policy = planned.on_error or standing.options.on_error
        if policy is not OnError.SAFE_TO_FAIL:
            yield policy, Cause(task, known.error_code, "it failed; its own error says why")


def _has_more(standing: Standing, taken: Taken) -> bool:
    """Whether anything may begin that was not begun: after a stop only a new plan brings that."""
    for task in standing.workflow.by_id:
        status = taken.tasks.get(task, TaskStatus.PENDING)
        known = standing.tasks.get((task, WHOLE_TASK))
        if status in _UNBEGUN and not (known and known.attempts):
            return True
        if status is TaskStatus.RUNNING and task in taken.items and task not in taken.stopped:
            return True
    return False


_UNBEGUN: Final = (TaskStatus.PENDING, TaskStatus.WAITING_APPROVAL)


def _take_call(taken: Taken, place: Place, known: TaskStanding) -> None:
    status = known.status
    if status is TaskStatus.RUNNING:
        taken.lost.append(place)
        status = TaskStatus.UNKNOWN
    elif status is TaskStatus.WAITING_APPROVAL:
        taken.asked[place] = Asked(known.definition_hash, known.arguments_digest, known.approval)
        status = TaskStatus.PENDING if known.approval else status
    task, item = place
    if item == WHOLE_TASK:
        taken.tasks[task] = status
    else:
        taken.items.setdefault(task, {})[item] = status
