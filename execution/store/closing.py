"""Ends runs that cannot be gone on with: one way, whatever the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from execution import events
from execution.changes import WHOLE_TASK, Changes, Event, TaskChange
from execution.status import RunStatus, TaskStatus
from execution.store import change_rows, writing
from execution.store.force_acquire import Seized
from gateway_project.foundation.sealing import Sealer

_ENDS: Final = {
    TaskStatus.RUNNING: TaskStatus.UNKNOWN,
    TaskStatus.WAITING_APPROVAL: TaskStatus.CANCELLED,
    TaskStatus.PENDING: TaskStatus.SKIPPED,
}
"""What becomes of tasks that are not over."""
_TELLS: Final = {
    TaskStatus.UNKNOWN: events.TASK_UNKNOWN,
    TaskStatus.CANCELLED: events.TASK_CANCELLED,
    TaskStatus.SKIPPED: events.TASK_SKIPPED,
}


def end(
    seized: Iterable[Seized], *, code: str, error: str = "", sealer: Sealer | None = None
) -> None:
    """End runs as failed, in the transaction that has seized them.

    Args:
        seized: The runs.
        code: Why, as a stable word.
        error: Why, in one line; not kept without a sealer.
        sealer: Seals that.
    """
    at = datetime.now(UTC)
    ends = [closing(one, code=code, error=error, at=at) for one in seized]
    writing.write_last([(one, change_rows.sealed(one, sealer) if sealer else ()) for one in ends])


def closing(seized: Seized, *, code: str, error: str, at: datetime) -> Changes:
    """Return what ends a run that cannot be gone on with, as failed.

    What came of a call that was begun stays open, also if it was to be made again: it is unknown.

    Args:
        seized: How it stands.
        code: Why, as a stable word.
        error: Why, in one line.
        at: When.
    """
    ends = dict(_ends(seized))
    told: list[tuple[str, tuple[str, int], dict[str, Any]]] = [
        (_TELLS[status], place, {}) for place, status in ends.items()
    ]
    status = RunStatus.FAILED
    told.append((events.RUN_ENDED, ("", WHOLE_TASK), {"status": status.value}))
    return Changes(
        run=seized.run,
        epoch=seized.epoch,
        tasks=tuple(
            TaskChange(task=task, item=item, status=status, at=at)
            for (task, item), status in ends.items()
        ),
        events=tuple(
            Event(seq=seized.last_seq + number, kind=kind, at=at, task=task, item=item, data=data)
            for number, (kind, (task, item), data) in enumerate(told, 1)
        ),
        status=status,
        error_code=code,
        error=error,
    )


def _ends(seized: Seized) -> Iterator[tuple[tuple[str, int], TaskStatus]]:
    """Yield what becomes of tasks that are not over; a list is begun once one of its calls is."""
    begun = {*seized.begun, *((task, WHOLE_TASK) for task, _ in seized.begun)}
    for place, status in seized.tasks.items():
        if status in _ENDS:
            yield place, TaskStatus.UNKNOWN if place in begun else _ENDS[status]
