"""Stores experience with tools, in counters that any process adds to; finds those that ran."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.db import connection
from django.db.models import Q

from graph.relations import HALF_LIFE_DAYS, SECONDS_A_DAY
from learning.models import ToolExperience
from tools import ids
from tools.models import Tool

MAX_HALVINGS: Final = 100
"""Older runs count next to nothing; the cap avoids numeric underflow."""


def _format_decay(counted_at: str, at: str) -> str:
    """Return the SQL of the decay of a run's weight over time, as for relations."""
    days = f"extract(epoch FROM {at} - {counted_at})::float8 / {SECONDS_A_DAY}"
    halvings = f"greatest({days}, 0) / {HALF_LIFE_DAYS}::float8"
    return f"power(0.5::float8, least({halvings}, {MAX_HALVINGS}))"


_LATER = "greatest(known.runs_at, excluded.runs_at)"

# Nothing reads the histogram in `latencies`; the next migration of the table may drop it.
_ADD = f"""
INSERT INTO learning_toolexperience AS known
    (tool_id, team_id, runs, runs_at, calls, total_ms, latencies)
SELECT tool, %(team)s, runs, %(at)s, calls, total_ms, '{{}}'::bigint[]
FROM json_to_recordset(%(rows)s) AS given (
    tool bigint, runs float8, calls bigint, total_ms float8
)
WHERE EXISTS (SELECT FROM tools_tool WHERE id = tool)
ORDER BY tool
ON CONFLICT (tool_id, team_id) DO UPDATE SET
    runs = known.runs * {_format_decay("known.runs_at", _LATER)}
         + excluded.runs * {_format_decay("excluded.runs_at", _LATER)},
    runs_at = {_LATER},
    calls = known.calls + excluded.calls,
    total_ms = known.total_ms + excluded.total_ms
"""

_RUNS = f"""
SELECT tool_id, runs * {_format_decay("runs_at", "%(at)s::timestamptz")}
FROM learning_toolexperience
WHERE team_id IS NOT DISTINCT FROM %(team)s AND tool_id = ANY(%(tools)s)
"""

_LOCK = """
SELECT FROM learning_toolexperience
WHERE team_id IS NOT DISTINCT FROM %(team)s AND tool_id = ANY(%(tools)s)
ORDER BY tool_id
FOR NO KEY UPDATE
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolObservation:
    """What one run showed of a tool.

    Attributes:
        runs: Workflows that used it successfully: the weight of the run, or 0.
        calls: Its answered calls whose duration is known.
        total_ms: Total duration of these calls.
    """

    runs: float = 0.0
    calls: int = 0
    total_ms: float = 0.0


def lock_experience(team: int | None, tools: Iterable[int]) -> None:
    """Lock the experience of a team with tools until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, {"team": team, "tools": list(tools)})


def add_experience(team: int | None, seen: Mapping[int, ToolObservation], *, at: datetime) -> None:
    """Add the observations of a run; those of deleted tools are dropped."""
    rows = [
        {
            "tool": tool,
            "runs": one.runs,
            "calls": one.calls,
            "total_ms": one.total_ms,
        }
        for tool, one in seen.items()
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_ADD, {"team": team, "at": at, "rows": json.dumps(rows)})


def load_run_counts(team: int | None, tools: Collection[int], *, at: datetime) -> dict[int, float]:
    """Return the decayed number of a team's workflows that used each tool; not those in none."""
    with connection.cursor() as cursor:
        cursor.execute(_RUNS, {"team": team, "at": at, "tools": list(tools)})
        return dict(cursor.fetchall())


def load_mean_latencies(team: int | None, tools: Collection[int]) -> dict[int, float]:
    """Return the mean latency of tools in milliseconds; not of those never called."""
    timed = ToolExperience.objects.filter(team=team, tool__in=tools, calls__gt=0)
    rows = timed.values_list("tool", "total_ms", "calls")
    return {tool: total_ms / calls for tool, total_ms, calls in rows}


class VisibleTool(NamedTuple):
    """A tool visible to a team.

    Attributes:
        definition_hash: Of its pinned definition; empty: none.
    """

    pk: int
    definition_hash: str


def find_visible_tools(tools: Collection[str], *, team: int | None) -> dict[str, VisibleTool]:
    """Return existing tools visible to a team, by canonical id; one query.

    These are shared tools and the team's own, including removed ones. Renamed tools, and those on
    other teams' servers, are omitted.
    """
    wanted = Q()
    for tool in tools:
        with suppress(ids.MalformedToolId):
            server, name = ids.split_id(tool)
            wanted |= Q(server__name=server, name=name)
    if not wanted:
        return {}
    rows = Tool.objects.filter(wanted, Q(server__team=None) | Q(server__team=team)).values_list(
        "pk", "server__name", "name", "definition__hash"
    )
    return {
        ids.join_id(server, name): VisibleTool(pk, known or "") for pk, server, name, known in rows
    }
