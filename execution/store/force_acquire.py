"""Seizes a run without reading its payloads, so that it can be ended in any case."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from execution.models import TaskRun, WorkflowExecution
from execution.status import RunStatus, TaskStatus
from execution.store.escaping import unescape_text


@dataclass(frozen=True, kw_only=True)
class SeizedRun:
    """A run that this process has seized to end it.

    Attributes:
        run: Its id.
        epoch: Epoch of this claim.
        last_seq: Sequence number of its newest event.
        tasks: Task statuses, by id and item.
        begun_calls: Those with a begun call.
    """

    run: UUID
    epoch: int
    last_seq: int
    tasks: Mapping[tuple[str, int], TaskStatus]
    begun_calls: Collection[tuple[str, int]] = ()


def seize_run(run: UUID, *, me: str, dead: Collection[str] = ()) -> SeizedRun | None:
    """Seize an unfinished run that is unowned, lapsed, dead-owned or owned by `me`.

    Its row stays locked until the transaction ends, in which it must be ended.

    Args:
        run: Its id.
        me: This process.
        dead: Owners known to have ended.

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
    tasks = [
        ((unescape_text(task), item), TaskStatus(status), attempts)
        for task, item, status, attempts in TaskRun.objects.filter(run=run)
        .order_by("position", "item")
        .values_list("task", "item", "status", "attempts")
    ]
    return SeizedRun(
        run=run,
        epoch=row.epoch + 1,
        last_seq=row.last_seq,
        tasks={key: status for key, status, _ in tasks},
        begun_calls=frozenset(key for key, _, attempts in tasks if attempts),
    )
