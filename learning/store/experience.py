"""What the runs of teams have shown of tools: counts that writers in any process add to."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection

from graph.relations import HALF_LIFE_DAYS, SECONDS_A_DAY
from learning.latency import BUCKETS

MAX_HALVINGS: Final = 100
"""What is older counts next to nothing, and is no number too small to be one."""


def _aged(counted_at: str, at: str) -> str:
    """Return the SQL of how much a run of one time is worth at another, as relations have it."""
    days = f"extract(epoch FROM {at} - {counted_at})::float8 / {SECONDS_A_DAY}"
    halvings = f"greatest({days}, 0) / {HALF_LIFE_DAYS}::float8"
    return f"power(0.5::float8, least({halvings}, {MAX_HALVINGS}))"


_LATER = "greatest(known.runs_at, excluded.runs_at)"

_ADD = f"""
INSERT INTO learning_toolexperience AS known
    (tool_id, team_id, runs, runs_at, calls, total_ms, latencies)
SELECT tool, %(team)s, runs, %(at)s, calls, total_ms,
       ARRAY(SELECT value::bigint FROM json_array_elements_text(latencies) AS value)
FROM json_to_recordset(%(rows)s) AS given (
    tool bigint, runs float8, calls bigint, total_ms float8, latencies json
)
WHERE EXISTS (SELECT FROM tools_tool WHERE id = tool)
ORDER BY tool
ON CONFLICT (tool_id, team_id) DO UPDATE SET
    runs = known.runs * {_aged("known.runs_at", _LATER)}
         + excluded.runs * {_aged("excluded.runs_at", _LATER)},
    runs_at = {_LATER},
    calls = known.calls + excluded.calls,
    total_ms = known.total_ms + excluded.total_ms,
    latencies = ARRAY(
        SELECT coalesce(one, 0) + coalesce(other, 0)
        FROM unnest(known.latencies, excluded.latencies)
             WITH ORDINALITY AS pair (one, other, place)
        ORDER BY place)
"""

_RUNS = f"""
SELECT tool_id, runs * {_aged("runs_at", "%(at)s::timestamptz")}
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
class Seen:
    """What one run showed of a tool.

    Attributes:
        is_use: Whether it was used in a workflow, with success.
        total_ms: What its calls took together.
        latencies: Its calls by how long they took: `BUCKETS` counts.
    """

    is_use: bool = False
    total_ms: float = 0.0
    latencies: Sequence[int] = (0,) * BUCKETS


def lock(team: int | None, tools: Iterable[int]) -> None:
    """Let nobody else add to some tools of a team until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, {"team": team, "tools": list(tools)})


def add(team: int | None, seen: Mapping[int, Seen], *, at: datetime) -> None:
    """Add what a run showed of tools, by primary key; of such as are gone nothing is kept.

    Args:
        team: Whose run it was; None: a caller's without a team.
        seen: By primary key of the tool.
        at: When the run ended.
    """
    rows = [
        {
            "tool": tool,
            "runs": float(one.is_use),
            "calls": sum(one.latencies),
            "total_ms": one.total_ms,
            "latencies": list(one.latencies),
        }
        for tool, one in seen.items()
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_ADD, {"team": team, "at": at, "rows": json.dumps(rows)})


def runs(team: int | None, tools: Collection[int], *, at: datetime) -> dict[int, float]:
    """Return in how many of a team's workflows each of some tools was used; not those in none.

    Args:
        team: Primary key; None: callers without a team.
        tools: Primary keys.
        at: Time that the age of runs is taken at.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RUNS, {"team": team, "at": at, "tools": list(tools)})
        return dict(cursor.fetchall())
