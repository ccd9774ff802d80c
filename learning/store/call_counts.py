"""Counts of recent calls by tool and by server, from the events of the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from learning.memory.event import KIND_CODES, EventKind, EventOutcome
from learning.models.events import NO_TEAM

_SELECT = """
SELECT event.tool, tool.server_id, count(*),
       count(*) FILTER (WHERE event.outcome <> %(succeeded)s),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY event.duration_ms),
       max(event.at)
FROM learning_episodicevent AS event JOIN tools_tool AS tool ON tool.id = event.tool
WHERE coalesce(event.team_id, 0) = %(team)s AND event.at >= %(since)s AND event.kind = %(kind)s
GROUP BY GROUPING SETS ((event.tool), (tool.server_id))
"""


class CallCount(NamedTuple):
    """Calls of a tool, or of all tools of a server, since some time.

    Attributes:
        calls: All of them.
        failures: Those that failed or got no answer.
        p95_ms: 95th percentile of their durations; None: unknown.
        last_at: When the last one ended.
    """

    calls: int
    failures: int
    p95_ms: float | None
    last_at: datetime


@dataclass(frozen=True, kw_only=True)
class RecentCalls:
    """A team's calls since some time, by primary key.

    Attributes:
        by_tool: Of the tools that were called.
        by_server: Of their servers.
    """

    by_tool: Mapping[int, CallCount] = field(default_factory=dict)
    by_server: Mapping[int, CallCount] = field(default_factory=dict)


def load_recent_calls(team: int | None, *, since: datetime) -> RecentCalls:
    """Count a team's calls since some time; one query.

    Args:
        team: Primary key; None: callers without a team.
        since: Start of the period; a day, say: the query reads all events in it.
    """
    values: dict[str, int | datetime] = {
        "team": NO_TEAM if team is None else team,
        "since": since,
        "kind": KIND_CODES[EventKind.TASK_COMPLETE],
        "succeeded": EventOutcome.SUCCEEDED.value,
    }
    by_tool: dict[int, CallCount] = {}
    by_server: dict[int, CallCount] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SELECT, values)
        for tool, server, *counts in cursor.fetchall():
            if tool is not None:
                by_tool[tool] = CallCount(*counts)
            else:
                by_server[server] = CallCount(*counts)
    return RecentCalls(by_tool=by_tool, by_server=by_server)
