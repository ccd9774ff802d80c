"""Decisions about the pending calls of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from execution.store import prepared
from execution.store.approval_sql import NEWEST_APPROVALS
from execution.store.escaping import unescape_text

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
