"""What people have decided about the calls of a run that wait for them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import connection

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


_DECIDED = """
SELECT task, item, id, status FROM (
    SELECT DISTINCT ON (task, item) task, item, id, created_at,
           CASE WHEN status IN ('pending', 'approved') AND expires_at <= now()
                THEN 'expired' ELSE status END AS status
    FROM execution_approval WHERE run_id = %s
    ORDER BY task, item, status IN ('pending', 'approved') DESC, created_at DESC, id) AS newest
WHERE status IN ('approved', 'rejected', 'expired')
ORDER BY created_at, id
"""


def of(run: UUID) -> tuple[Decision, ...]:
    """Return what was decided of a run's calls and is not used up, oldest first.

    Only what is open about a call counts, else what was asked last. What has run out by the clock
    of the database is expired, whatever its row says.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DECIDED, [run])
        return tuple(
            Decision(task=original(task), item=item, approval=approval, status=status)
            for task, item, approval, status in cursor.fetchall()
        )
