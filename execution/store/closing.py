"""Ends runs that cannot be resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from execution import events
from execution.changes import WHOLE_TASK, RunChanges, RunEvent, TaskChange
from execution.status import RunStatus, TaskStatus
from execution.store import change_rows, writing
from execution.store.force_acquire import SeizedRun
from gateway_project.foundation.sealing import Sealer

_END_STATUSES: Final = {
    TaskStatus.RUNNING: TaskStatus.UNKNOWN,
    TaskStatus.WAITING_APPROVAL: TaskStatus.CANCELLED,
    TaskStatus.PENDING: TaskStatus.SKIPPED,
}
"""Final statuses of unfinished tasks."""
_EVENT_KINDS: Final = {
    TaskStatus.UNKNOWN: events.TASK_UNKNOWN,
    TaskStatus.CANCELLED: events.TASK_CANCELLED,
    TaskStatus.SKIPPED: events.TASK_SKIPPED,
}


def end_runs(
    seized: Iterable[SeizedRun], *, code: str, error: str = "", sealer: Sealer | None = None
) -> None:
    """Mark runs as failed, in the transaction that has seized them.

    Args:
        seized: The runs.
        code: Stable error code.
        error: Error in one line; not stored without a sealer.
        sealer: Seals the error.
    """
    at = datetime.now(UTC)
    ends = [build_closing_changes(one, code=code, error=error, at=at) for one in seized]
    writing.write_last_changes(
        [(one, change_rows.seal_changes(one, sealer) if sealer else ()) for one in ends]
    )


def build_closing_changes(seized: SeizedRun, *, code: str, error: str, at: datetime) -> RunChanges:
    """Build the changes that mark a run as failed.

    The outcome of a begun call becomes unknown, even if it was to be repeated.

    Args:
        seized: The seized run.
        code: Stable error code.
        error: Error in one line.
        at: When.
    """
    ends = dict(_iterate_task_ends(seized))
    event_rows: list[tuple[str, tuple[str, int], dict[str, Any]]] = [
        (_EVENT_KINDS[status], key, {}) for key, status in ends.items()
    ]
    status = RunStatus.FAILED
    event_rows.append((events.RUN_ENDED, ("", WHOLE_TASK), {"status": status.value}))
    return RunChanges(
        run=seized.run,
        epoch=seized.epoch,
        tasks=tuple(
            TaskChange(task=task, item=item, status=status, at=at)
            for (task, item), status in ends.items()
        ),
        events=tuple(
            RunEvent(
                seq=seized.last_seq + number, kind=kind, at=at, task=task, item=item, data=data
            )
            for number, (kind, (task, item), data) in enumerate(event_rows, 1)
        ),
        status=status,
        error_code=code,
        error=error,
    )


def _iterate_task_ends(seized: SeizedRun) -> Iterator[tuple[tuple[str, int], TaskStatus]]:
    """Yield the final statuses of unfinished tasks; a begun item makes its task begun."""
    begun_keys = {*seized.begun_calls, *((task, WHOLE_TASK) for task, _ in seized.begun_calls)}
    for key, status in seized.tasks.items():
        if status in _END_STATUSES:
            yield key, TaskStatus.UNKNOWN if key in begun_keys else _END_STATUSES[status]
