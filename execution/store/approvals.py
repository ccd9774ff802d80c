"""Approvals as rows: those that wait for a person, and what a person decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final
from uuid import UUID

from django.db.models import CharField, Q, QuerySet, Window
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now, RowNumber

from execution.models import Approval
from execution.status import RunStatus
from execution.store import payloads, transactions
from execution.store.approval_sql import stands
from execution.store.escaping import original
from execution.view import ApprovalView
from gateway_project.foundation import notify
from gateway_project.foundation.sealing import SealBroken, Sealer

Allowed = Callable[[int | None, str], bool]
"""Whether somebody may decide a call of a user who acts for a team: team, then user."""


MAX_EACH: Final = 100
"""Calls of one user in one team that are listed; the next follow once these are decided."""
OPEN: Final = (Approval.Status.PENDING, Approval.Status.APPROVED)
"""How an approval stands that is neither used nor past use."""


class UnknownApproval(LookupError):
    """No such approval, or none that the asker may know of."""

    code: ClassVar[str] = "unknown_approval"

    def __init__(self, approval: UUID | str) -> None:
        super().__init__(f"no approval {approval}; `manage.py approvals` lists those that wait")


class NotPending(Exception):
    """The approval is decided, used or expired already.

    Attributes:
        status: How it stands.
    """

    code: ClassVar[str] = "approval_not_pending"

    def __init__(self, approval: UUID, status: str) -> None:
        super().__init__(f"approval {approval} is {status} already; nothing was changed")
        self.status = status


def decide(approval: UUID, *, approve: bool, by: str, via: str, allowed: Allowed) -> ApprovalView:
    """Approve or reject what waits; of two people who decide at once one wins.

    The process that runs it is notified when the transaction commits.

    Args:
        approval: Primary key.
        approve: Whether the call may be made.
        by: Name of the user who decides.
        via: console, command or elicitation.
        allowed: Whether they may decide calls of a team and a user.

    Raises:
        UnknownApproval: If there is none, or they may not decide it.
        NotPending: If it was decided, used or withdrawn before, or has expired.
    """
    with transactions.short():
        # Whoever comes second waits here, and then sees what the first decided.
        row = _row(approval, allowed, lock=True)
        if _status(row) != Approval.Status.PENDING:
            raise NotPending(approval, _status(row))
        Approval.objects.filter(pk=approval).update(
            status=Approval.Status.APPROVED if approve else Approval.Status.REJECTED,
            decided_at=Now(),
            decided_by=by,
            decided_via=via,
        )
        decided = _asked(_rows().get(pk=approval))
        notify.send(notify.RUN_WORK, str(decided.run))
    return decided


def pending(
    users: Collection[str] | None = None, teams: Collection[int] = ()
) -> tuple[ApprovalView, ...]:
    """Return what waits for a person, oldest first, without arguments.

    Of each user the first `MAX_EACH`: whoever asks for thousands hides nobody else's.

    Args:
        users: Only calls of these users, or of the teams; None: all.
        teams: Primary keys of teams.
    """
    oldest = ("created_at", "task", "item", "pk")
    place = Window(RowNumber(), partition_by=["run__user", "run__team"], order_by=oldest)
    rows = _rows().filter(pk__in=_waiting().values("pk")).annotate(place=place)
    rows = rows.filter(place__lte=MAX_EACH).order_by(*oldest)
    if users is not None:
        rows = rows.filter(Q(run__user__in=users) | Q(run__team__in=teams))
    return tuple(map(_asked, rows))


def recent(
    users: Collection[str] | None = None, teams: Collection[int] = (), *, limit: int = 50
) -> tuple[ApprovalView, ...]:
    """Return what waits for nobody any more, newest first, without arguments.

    Args:
        users: As in `pending`.
        teams: As in `pending`.
        limit: How many at most.
    """
    rows = _rows().exclude(pk__in=_waiting().values("pk"))
    if users is not None:
        rows = rows.filter(Q(run__user__in=users) | Q(run__team__in=teams))
    return tuple(map(_asked, rows.order_by("-created_at", "pk")[:limit]))


def get(approval: UUID, *, allowed: Allowed, sealer: Sealer) -> ApprovalView:
    """Return one approval with the exact arguments.

    Raises:
        UnknownApproval: If there is none, or it may not be seen.
    """
    row = _row(approval, allowed)
    return replace(_asked(row), arguments=_arguments(row, sealer))


def expire() -> int:
    """Mark what nobody decided or used in time, by the clock of the database; return how many.

    The processes that run them are notified.
    """
    late = Approval.objects.filter(status__in=OPEN, expires_at__lte=Now())
    with transactions.short():
        # Whoever decides or uses one at this moment comes first.
        rows = list(late.select_for_update(skip_locked=True).values_list("pk", "run"))
        late.filter(pk__in=[pk for pk, _ in rows]).update(status=Approval.Status.EXPIRED)
        for run in {run for _, run in rows}:
            notify.send(notify.RUN_WORK, str(run))
    return len(rows)


def _waiting() -> QuerySet[Approval]:
    """Return what can be decided now."""
    over = [status.value for status in RunStatus if status.is_final]
    return Approval.objects.filter(status=Approval.Status.PENDING, expires_at__gt=Now()).exclude(
        run__status__in=over
    )


def _rows() -> QuerySet[Any]:
    """Return all approvals with their runs, and how they stand by now."""
    by_now = RawSQL(stands("execution_approval"), [], output_field=CharField())  # noqa: S611
    return Approval.objects.select_related("run").annotate(stands=by_now)


def _row(approval: UUID, allowed: Allowed, *, lock: bool = False) -> Any:
    rows = _rows().select_for_update(of=("self",), no_key=True) if lock else _rows()
    row = rows.filter(pk=approval).first()
    if row is None or not allowed(row.run.team_id, row.run.user):
        raise UnknownApproval(approval)
    return row


def _status(row: Any) -> str:
    """Say how an approval stands, also where no row says so yet."""
    if row.status == Approval.Status.PENDING and RunStatus(row.run.status).is_final:
        return str(Approval.Status.WITHDRAWN)
    return str(row.stands)


def _asked(row: Any) -> ApprovalView:
    return ApprovalView(
        id=row.pk,
        run=row.run_id,
        task=original(row.task),
        item=row.item,
        tool=original(row.tool),
        reason=original(row.reason),
        user=row.run.user,
        team=row.run.team_id,
        status=_status(row),
        definition_hash=row.definition_hash,
        arguments_digest=row.arguments_digest,
        created_at=row.created_at,
        expires_at=row.expires_at,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        decided_via=row.decided_via,
    )


def _arguments(row: Any, sealer: Sealer) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] | None = payloads.one(
            row.run_id,
            payloads.Kind.ARGUMENTS,
            task=original(row.task),
            item=row.item,
            sealer=sealer,
        )
    except SealBroken:  # its key is gone, and so is what it says
        return None
    return found
