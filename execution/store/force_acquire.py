"""Takes a run without reading what it holds, so that it can be ended whatever that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from execution.models import TaskRun, WorkflowExecution
from execution.status import RunStatus, TaskStatus
from execution.store.escaping import original


@dataclass(frozen=True, kw_only=True)
class Seized:
    """A run that this process has taken to end it.

    Attributes:
        run: Its id.
        epoch: Of this hold.
        last_seq: Number of its newest event.
        tasks: How each task stands, by id and item.
        begun: Those of which a call was begun.
    """

    run: UUID
    epoch: int
    last_seq: int
    tasks: Mapping[tuple[str, int], TaskStatus]
    begun: Collection[tuple[str, int]] = ()


def seize(run: UUID, *, me: str, dead: Collection[str] = ()) -> Seized | None:
    """Take a run, which must not have ended, from nobody, from the dead, or from oneself.

    Its row stays locked until the transaction ends, in which all else about it belongs.

    Args:
        run: Its id.
        me: This process.
        dead: Owners known to be gone.

    Returns:
        What can be known of it without a key; None: it is somebody else's, or over.
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
        ((original(task), item), TaskStatus(status), attempts)
        for task, item, status, attempts in TaskRun.objects.filter(run=run)
        .order_by("position", "item")
        .values_list("task", "item", "status", "attempts")
    ]
    return Seized(
        run=run,
        epoch=row.epoch + 1,
        last_seq=row.last_seq,
        tasks={place: status for place, status, _ in tasks},
        begun=frozenset(place for place, _, attempts in tasks if attempts),
    )
