"""Stores people's decisions as events, in the transactions that decide."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import connection

from execution.snapshot import compute_run_session
from learning.memory.event import Event, EventKind
from learning.store import events

_MS_PER_S = 1_000
_FIND_TOOL = """
SELECT tool.id FROM tools_tool AS tool JOIN tools_server AS server ON server.id = tool.server_id
WHERE server.name || ':' || tool.name = %s
"""


def record_person_decision(  # noqa: PLR0913 - the columns of one event
    *,
    run: UUID,
    tool: str,
    team: int | None,
    approved: bool,
    via: str,
    asked_at: datetime,
    decided_at: datetime,
) -> None:
    """Record a person's decision about a call of a run, in the current transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_FIND_TOOL, [tool])
        row = cursor.fetchone()
    events.insert_event(
        Event(
            kind=EventKind.HIL_DECISION,
            at=decided_at.timestamp(),
            team=team,
            session=compute_run_session(run),
            tool=None if row is None else row[0],
            duration_ms=(decided_at - asked_at).total_seconds() * _MS_PER_S,
            data={
                "run": str(run),
                "decision": "approved" if approved else "rejected",
                "via": via,
            },
        )
    )
