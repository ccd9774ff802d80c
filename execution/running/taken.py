"""What the executor makes of how a run stood when it was taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from execution.changes import WHOLE_TASK
from execution.running.standing import Place, Standing, TaskStanding
from execution.status import TaskStatus


class Asked(NamedTuple):
    """A call that a person is asked about, and their approval once it is given."""

    definition_hash: str
    arguments_digest: str
    approval: UUID | None = None


@dataclass(frozen=True, kw_only=True)
class Taken:
    """How the calls of a run stand that was taken.

    Attributes:
        tasks: Status of tasks; one with a list is running if any of its calls was begun.
        items: Status of the calls of tasks with a list, by item.
        asked: Calls that a person is asked about, or has approved.
        lost: Calls that were under way, and nobody knows how they ended.
    """

    tasks: dict[str, TaskStatus] = field(default_factory=dict)
    items: dict[str, dict[int, TaskStatus]] = field(default_factory=dict)
    asked: dict[Place, Asked] = field(default_factory=dict)
    lost: list[Place] = field(default_factory=list)


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
            if known.status is TaskStatus.RUNNING:
                taken.items.setdefault(place[0], {})
        else:
            _take_call(taken, place, known)
    for task in taken.items:
        if taken.tasks.get(task) not in _STAYS:
            taken.tasks[task] = TaskStatus.RUNNING
    return taken


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


def results(standing: Standing) -> Mapping[Place, Mapping[str, object]]:
    """Return the results that came along."""
    return {
        place: known.result for place, known in standing.tasks.items() if known.result is not None
    }
