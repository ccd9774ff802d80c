"""SQL for the current status of approvals: those past their expiry are expired.

Rows are updated only by a later sweep.
"""

from __future__ import annotations

from typing import Final, LiteralString


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
