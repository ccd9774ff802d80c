"""Counts of recent calls by tool and by server, from the events of the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.db import connection

from learning.memory.event import KIND_CODES, EventKind, EventOutcome
from learning.models.events import NO_TEAM
from learning.store.activity import MAX_EVENTS

SECONDS_PER_HOUR: Final = 3_600
_CALLS = f"""
(   SELECT tool, at, outcome, duration_ms FROM learning_episodicevent
    WHERE (%(all)s OR coalesce(team_id, {NO_TEAM}) = %(team)s) AND at >= %(since)s
      AND kind = {KIND_CODES[EventKind.TASK_COMPLETE]} AND tool IS NOT NULL
    ORDER BY at DESC LIMIT {MAX_EVENTS}) AS event
JOIN tools_tool AS tool ON tool.id = event.tool
"""
_SELECT = f"""
SELECT event.tool, tool.server_id, count(*),
       count(*) FILTER (WHERE event.outcome <> {EventOutcome.SUCCEEDED.value}),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY event.duration_ms),
       max(event.at)
FROM {_CALLS}
GROUP BY GROUPING SETS ((event.tool), (tool.server_id))
"""
_SELECT_BY_HOUR = f"""
SELECT floor(extract(epoch FROM %(at)s - event.at) / {SECONDS_PER_HOUR})::int, count(*),
       count(*) FILTER (WHERE event.outcome = {EventOutcome.FAILED.value}),
       count(*) FILTER (WHERE event.outcome = {EventOutcome.UNANSWERED.value})
FROM {_CALLS}
WHERE tool.server_id = %(server)s
GROUP BY 1 ORDER BY 1 DESC
"""


class CallCount(NamedTuple):
    """Calls of a tool, or of all tools of a server, since some time.

    Attributes:
        failures: Those that failed or got no answer.
        p95_ms: 95th percentile of their durations; None: unknown.
    """

    calls: int
    failures: int
    p95_ms: float | None
    last_at: datetime


class CallsOfHour(NamedTuple):
    """Calls of one server in one hour.

    Attributes:
        hours_ago: Whole hours since; 0: within the last hour.
        failed: Those whose tool reported an error.
    """

    hours_ago: int
    calls: int
    failed: int
    unanswered: int


@dataclass(frozen=True, kw_only=True)
class RecentCalls:
    """Calls since some time, by primary key."""

    by_tool: Mapping[int, CallCount] = field(default_factory=dict)
    by_server: Mapping[int, CallCount] = field(default_factory=dict)


def load_recent_calls(team: int | None, *, since: datetime, is_all: bool = False) -> RecentCalls:
    """Count calls since some time, the newest `MAX_EVENTS` at most; one query."""
    values: dict[str, int | bool | datetime] = {
        "all": is_all,
        "team": NO_TEAM if team is None else team,
        "since": since,
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


def load_calls_by_hour(
    server: int, team: int | None, *, hours: int, at: datetime, is_all: bool = False
) -> list[CallsOfHour]:
    """Count the calls of a server by hour, oldest first; hours without calls are left out."""
    values: dict[str, int | bool | datetime] = {
        "server": server,
        "all": is_all,
        "team": NO_TEAM if team is None else team,
        "since": at - timedelta(hours=hours),
        "at": at,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_BY_HOUR, values)
        return [CallsOfHour(*row) for row in cursor.fetchall() if 0 <= row[0] < hours]
