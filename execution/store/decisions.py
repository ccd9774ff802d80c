"""What people have decided about the calls of a run that wait for them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from execution.models import Approval
from execution.store.escaping import original


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What became of the approval of a call.

    Attributes:
        task: Id of the task.
        item: Place in its list.
        approval: Primary key.
        status: approved, rejected or expired.
    """

    task: str
    item: int
    approval: UUID
    status: str


def of(run: UUID) -> tuple[Decision, ...]:
    """Return what was decided of a run's calls and is not used up, oldest first.

    What has run out by the clock of the database is expired, whatever its row says.
    """
    late = Q(status__in=[Approval.Status.PENDING, Approval.Status.APPROVED], expires_at__lte=Now())
    rows = Approval.objects.filter(run=run).filter(
        Q(status__in=[Approval.Status.APPROVED, Approval.Status.REJECTED, Approval.Status.EXPIRED])
        | late
    )
    expired = set(rows.filter(late).values_list("id", flat=True))
    return tuple(
        Decision(
            task=original(task),
            item=item,
            approval=key,
            status=Approval.Status.EXPIRED.value if key in expired else str(status),
        )
        for key, task, item, status in rows.order_by("created_at").values_list(
            "id", "task", "item", "status"
        )
    )
