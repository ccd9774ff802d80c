"""What people have decided about the calls of a run that wait for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from execution.store import prepared
from execution.store.approval_sql import NEWEST
from execution.store.escaping import original

_DECIDED: Final = ("approved", "rejected", "expired")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What became of the approval of a call.

    Attributes:
        task: Id of the task.
        item: Place in its list.
        approval: Primary key.
        status: As in `execution.view.ApprovalView`; of what `of` returns approved, rejected or
            expired.
    """

    task: str
    item: int
    approval: UUID
    status: str


def of(run: UUID) -> tuple[Decision, ...]:
    """Return what was decided of a run's calls and is not used up, oldest first.

    Only what is open about a call counts, else what was asked last. What has run out by the clock
    of the database is expired, whatever its row says.
    """
    return tuple(one for one in newest(run) if one.status in _DECIDED)


def newest(run: UUID) -> tuple[Decision, ...]:
    """Return how the approval stands that counts of each call of a run, oldest first."""
    with prepared.cursor() as cursor:
        rows = sorted(cursor.execute(NEWEST, [run]), key=lambda row: (row[4], row[0], row[1]))
    return tuple(
        Decision(task=original(task), item=item, approval=approval, status=status)
        for task, item, approval, status, _ in rows
    )
