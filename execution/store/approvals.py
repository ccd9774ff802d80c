"""Approval rows: the pending ones, and the decisions that people make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, LiteralString
from uuid import UUID

from django.db.models import CharField, Q, QuerySet, Window
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now, RowNumber

from execution.models import Approval
from execution.status import RunStatus
from execution.store import payloads, prepared, transactions
from execution.store.escaping import unescape_text
from execution.view import ApprovalView
from gateway_project.foundation import notify
from gateway_project.foundation.sealing import Sealer, UnsealingFailed
from gateway_project.foundation.user_error import UserError

IsAllowed = Callable[[int | None, str], bool]
"""Whether somebody may decide a user's call: team acted for, then user name."""


MAX_LISTED_PER_USER: Final = 100
"""Calls listed per user and team; deciding these makes room for the next."""
OPEN_STATUSES: Final = (Approval.Status.PENDING, Approval.Status.APPROVED)
"""Statuses of approvals that can still be decided or used."""


def build_status_expression(row: LiteralString) -> LiteralString:
    """Return the SQL expression of an approval's current status.

    Args:
        row: Alias of the row in the statement.
    """
    return (
        f"CASE WHEN {row}.status IN ('pending', 'approved') AND {row}.expires_at <= now() "
        f"THEN 'expired' ELSE {row}.status END"
    )


def build_pending_expression(row: LiteralString) -> LiteralString:
    """Return the SQL condition of a pending approval; an index can serve it."""
    return f"{row}.status = 'pending' AND {row}.expires_at > now()"


NEWEST_APPROVALS: Final = f"""
SELECT DISTINCT ON (asked.task, asked.item)
    asked.task, asked.item, asked.id, {build_status_expression("asked")}, asked.created_at
FROM execution_approval AS asked WHERE asked.run_id = %s
ORDER BY asked.task, asked.item, asked.status IN ('pending', 'approved') DESC,
    asked.created_at DESC, asked.id
"""
"""The relevant approval of each call of a run: the open one, else the newest."""


class UnknownApproval(UserError, LookupError):
    """There is no such approval, or the caller may not see it."""

    code = "unknown_approval"

    def __init__(self, approval: UUID | str) -> None:
        super().__init__(f"no approval {approval}; `manage.py approvals` lists the pending ones")


class ApprovalNotPending(UserError):
    """The approval has already been decided, used or withdrawn, or has expired."""

    code = "approval_not_pending"

    def __init__(self, approval: UUID, status: str) -> None:
        super().__init__(f"approval {approval} is already {status}; nothing was changed")
        self.status = status


def decide_approval(
    approval: UUID, *, approve: bool, by: str, via: str, allowed: IsAllowed
) -> ApprovalView:
    """Approve or reject a pending call; of two concurrent decisions, one wins.

    The process executing the run is notified when the transaction commits.

    Args:
        approval: Primary key.
        approve: Whether the call may be made.
        by: Name of the deciding user.
        via: console, command or elicitation.
        allowed: Whether they may decide calls of a team and a user.

    Raises:
        UnknownApproval: If it does not exist or they may not decide it.
        ApprovalNotPending: If it was already decided, used or withdrawn, or has expired.
    """
    with transactions.short_transaction():
        # A second decider waits here, then sees the first decision.
        row = _load_row(approval, allowed, lock=True)
        if _derive_status(row) != Approval.Status.PENDING:
            raise ApprovalNotPending(approval, _derive_status(row))
        Approval.objects.filter(pk=approval).update(
            status=Approval.Status.APPROVED if approve else Approval.Status.REJECTED,
            decided_at=Now(),
            decided_by=by,
            decided_via=via,
        )
        decided = _build_view(_select_approvals().get(pk=approval))
        notify.send_notification(notify.RUN_WORK, str(decided.run))
    return decided


def load_pending(
    users: Collection[str] | None = None, teams: Collection[int] = ()
) -> tuple[ApprovalView, ...]:
    """Return the pending approvals, oldest first, without arguments.

    At most `MAX_LISTED_PER_USER` per user and team, so that a flood from one hides no other's.

    Args:
        users: Only calls of these users, or of the teams; None: all.
        teams: Primary keys of teams.
    """
    oldest = ("created_at", "task", "item", "pk")
    place = Window(RowNumber(), partition_by=["run__user", "run__team"], order_by=oldest)
    rows = _select_approvals().filter(pk__in=_select_pending().values("pk")).annotate(place=place)
    rows = rows.filter(place__lte=MAX_LISTED_PER_USER).order_by(*oldest)
    if users is not None:
        rows = rows.filter(Q(run__user__in=users) | Q(run__team__in=teams))
    return tuple(map(_build_view, rows))


def count_pending(
    users: Collection[str] | None = None, teams: Collection[int] = (), *, most: int
) -> int:
    """Count the pending approvals, up to a limit."""
    rows = _select_pending()
    if users is not None:
        rows = rows.filter(Q(run__user__in=users) | Q(run__team__in=teams))
    return rows[:most].count()


def is_any_pending() -> bool:
    """Whether any approval is pending."""
    return bool(_select_pending().exists())


def load_recent(
    users: Collection[str] | None = None, teams: Collection[int] = (), *, limit: int = 50
) -> tuple[ApprovalView, ...]:
    """Return the approvals that are no longer pending, newest first, without arguments.

    Args:
        users: As in `load_pending`.
        teams: As in `load_pending`.
        limit: Maximum count.
    """
    rows = _select_approvals().exclude(pk__in=_select_pending().values("pk"))
    if users is not None:
        rows = rows.filter(Q(run__user__in=users) | Q(run__team__in=teams))
    return tuple(map(_build_view, rows.order_by("-created_at", "pk")[:limit]))


def load_approval(approval: UUID, *, allowed: IsAllowed, sealer: Sealer) -> ApprovalView:
    """Return one approval, including the exact arguments.

    Raises:
        UnknownApproval: If it does not exist or may not be seen.
    """
    row = _load_row(approval, allowed)
    return replace(_build_view(row), arguments=_load_arguments(row, sealer))


def expire_approvals() -> int:
    """Mark approvals that expired undecided or unused, by the database clock; return the count.

    The processes executing their runs are notified.
    """
    late = Approval.objects.filter(status__in=OPEN_STATUSES, expires_at__lte=Now())
    with transactions.short_transaction():
        # Rows locked by a concurrent decision or use are skipped.
        rows = list(late.select_for_update(skip_locked=True).values_list("pk", "run"))
        late.filter(pk__in=[pk for pk, _ in rows]).update(status=Approval.Status.EXPIRED)
        for run in {run for _, run in rows}:
            notify.send_notification(notify.RUN_WORK, str(run))
    return len(rows)


def _select_pending() -> QuerySet[Approval]:
    """Return the approvals that can be decided now."""
    over = [status.value for status in RunStatus if status.is_final]
    return Approval.objects.filter(status=Approval.Status.PENDING, expires_at__gt=Now()).exclude(
        run__status__in=over
    )


def _select_approvals() -> QuerySet[Any]:
    """Return all approvals with their runs and their current status."""
    status = RawSQL(build_status_expression("execution_approval"), [], output_field=CharField())  # noqa: S611
    return Approval.objects.select_related("run").annotate(current_status=status)


def _load_row(approval: UUID, allowed: IsAllowed, *, lock: bool = False) -> Any:
    rows = (
        _select_approvals().select_for_update(of=("self",), no_key=True)
        if lock
        else _select_approvals()
    )
    row = rows.filter(pk=approval).first()
    if row is None or not allowed(row.run.team_id, row.run.user):
        raise UnknownApproval(approval)
    return row


def _derive_status(row: Any) -> str:
    """Return the current status, even where the row is not updated yet."""
    if row.status == Approval.Status.PENDING and RunStatus(row.run.status).is_final:
        return str(Approval.Status.WITHDRAWN)
    return str(row.current_status)


def _build_view(row: Any) -> ApprovalView:
    return ApprovalView(
        id=row.pk,
        run=row.run_id,
        task=unescape_text(row.task),
        item=row.item,
        tool=unescape_text(row.tool),
        reason=unescape_text(row.reason),
        user=row.run.user,
        team=row.run.team_id,
        status=_derive_status(row),
        definition_hash=row.definition_hash,
        arguments_digest=row.arguments_digest,
        created_at=row.created_at,
        expires_at=row.expires_at,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        decided_via=row.decided_via,
    )


def _load_arguments(row: Any, sealer: Sealer) -> Mapping[str, Any] | None:
    try:
        found: Mapping[str, Any] | None = payloads.load_payload(
            row.run_id,
            payloads.PayloadKind.ARGUMENTS,
            task=unescape_text(row.task),
            item=row.item,
            sealer=sealer,
        )
    except UnsealingFailed:  # its key is gone, so its content is lost
        return None
    return found


_DECIDED_STATUSES: Final = ("approved", "rejected", "expired")


@dataclass(frozen=True, kw_only=True)
class ApprovalDecision:
    """The decision about a call's approval.

    Attributes:
        task: Id of the task.
        item: Index in the for-each list.
        approval: Primary key.
        status: As in `execution.view.ApprovalView`; from `load_decisions`: approved, rejected or
            expired.
    """

    task: str
    item: int
    approval: UUID
    status: str


def load_decisions(run: UUID) -> tuple[ApprovalDecision, ...]:
    """Return the unconsumed decisions about a run's calls, oldest first.

    Of each call only its open approval counts, or else its newest. One past its expiry by the
    database clock is expired, whatever its row says.
    """
    return tuple(
        decision for decision in load_newest_decisions(run) if decision.status in _DECIDED_STATUSES
    )


def load_newest_decisions(run: UUID) -> tuple[ApprovalDecision, ...]:
    """Return the relevant approval of each call of a run, oldest first."""
    with prepared.cursor() as cursor:
        rows = sorted(
            cursor.execute(NEWEST_APPROVALS, [run]), key=lambda row: (row[4], row[0], row[1])
        )
    return tuple(
        ApprovalDecision(task=unescape_text(task), item=item, approval=approval, status=status)
        for task, item, approval, status, _ in rows
    )
