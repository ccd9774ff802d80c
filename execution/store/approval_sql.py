"""How approvals stand by now, as SQL: what nobody decided or used in time is expired.

A row says so only once somebody has looked after it.
"""

from __future__ import annotations

from typing import Final, LiteralString


def stands(row: LiteralString) -> LiteralString:
    """Return how an approval stands, as an expression.

    Args:
        row: What the statement calls its row.
    """
    return (
        f"CASE WHEN {row}.status IN ('pending', 'approved') AND {row}.expires_at <= now() "
        f"THEN 'expired' ELSE {row}.status END"
    )


def waits(row: LiteralString) -> LiteralString:
    """Return whether an approval can be decided now, as an expression an index can serve."""
    return f"{row}.status = 'pending' AND {row}.expires_at > now()"


NEWEST: Final = f"""
SELECT DISTINCT ON (asked.task, asked.item)
    asked.task, asked.item, asked.id, {stands("asked")}, asked.created_at
FROM execution_approval AS asked WHERE asked.run_id = %s
ORDER BY asked.task, asked.item, asked.status IN ('pending', 'approved') DESC,
    asked.created_at DESC, asked.id
"""
"""Of each call of a run the approval that counts: the open one, else what was asked last."""
