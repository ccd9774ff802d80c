"""Ends runs that cannot be resumed, without reading their payloads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from execution import events
from execution.changes import WHOLE_TASK, RunChanges, RunEvent, TaskChange, TaskKey
from execution.models import TaskRun, WorkflowExecution
from execution.snapshot import TaskSnapshot
from execution.status import RunStatus, TaskStatus
from execution.store import change_rows, writing
from execution.store.escaping import unescape_text
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


@dataclass(frozen=True, kw_only=True)
class SeizedRun:
    """A run that this process has seized to end it.

    Attributes:
        run: Its id.
        epoch: Epoch of this claim.
        last_seq: Sequence number of its newest event.
        tasks: Task states, by id and item, without their approvals.
    """

    run: UUID
    epoch: int
    last_seq: int
    tasks: Mapping[TaskKey, TaskSnapshot]


def seize_run(run: UUID, *, me: str, dead: Collection[str] = ()) -> SeizedRun | None:
    """Seize an unfinished run that is unowned, lapsed, dead-owned or owned by `me`.

    Its row stays locked until the transaction ends, in which it must be ended.

    Returns:
        The run; None: it belongs to another process, or has ended.
    """
    lapsed = ExpressionWrapper(
        Q(lease_until__isnull=True) | Q(lease_until__lte=Now()), output_field=BooleanField()
    )
    row = (
        WorkflowExecution.objects.select_for_update(of=("self",))
        .annotate(has_lapsed=lapsed)
        .filter(pk=run)
        .first()
    )
    if row is None or RunStatus(row.status).is_final:
        return None
    if row.owner not in ("", me, *dead) and not row.has_lapsed:
        return None
    WorkflowExecution.objects.filter(pk=run).update(owner=me, epoch=row.epoch + 1)
    rows = TaskRun.objects.filter(run=run).order_by("position", "item")
    return SeizedRun(
        run=run,
        epoch=row.epoch + 1,
        last_seq=row.last_seq,
        tasks={
            (unescape_text(task), item): TaskSnapshot(status=TaskStatus(status), attempts=attempts)
            for task, item, status, attempts in rows.values_list(
                "task", "item", "status", "attempts"
            )
        },
    )


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
    """
    ends = dict(_iterate_task_ends(seized))
    event_rows: list[tuple[str, TaskKey, dict[str, Any]]] = [
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


def _iterate_task_ends(seized: SeizedRun) -> Iterator[tuple[TaskKey, TaskStatus]]:
    """Yield the final statuses of unfinished tasks; a begun item makes its task begun."""
    begun_tasks = {task for (task, _), one in seized.tasks.items() if one.attempts}
    for key, one in seized.tasks.items():
        if one.status in _END_STATUSES:
            is_begun = one.attempts or (key[1] == WHOLE_TASK and key[0] in begun_tasks)
            yield key, TaskStatus.UNKNOWN if is_begun else _END_STATUSES[one.status]
