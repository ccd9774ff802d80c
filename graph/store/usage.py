"""How often teams have called tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from graph.models import ToolUsage
from graph.store import writing

Place = tuple[int, int | None]
"""Primary keys of a tool and of the team that calls it; None: a caller without a team."""

_ADD = """
INSERT INTO graph_toolusage AS known (tool_id, team_id, calls, failures, last_called_at)
SELECT tool, team, calls, failures, %s
FROM json_to_recordset(%s) AS given (tool bigint, team bigint, calls bigint, failures bigint)
WHERE EXISTS (SELECT FROM tools_tool WHERE id = tool)
  AND (team IS NULL OR EXISTS (SELECT FROM tools_team WHERE id = team))
ORDER BY tool, team
ON CONFLICT (tool_id, team_id) DO UPDATE SET
    calls = known.calls + excluded.calls, failures = known.failures + excluded.failures,
    last_called_at = greatest(known.last_called_at, excluded.last_called_at)
RETURNING tool_id, team_id, calls
"""


class Count(NamedTuple):
    """Calls of a tool.

    Attributes:
        calls: All of them.
        failures: Those that failed.
    """

    calls: int
    failures: int

    def __add__(self, other: Count) -> Count:  # type: ignore[override]
        """Return both together."""
        return Count(self.calls + other.calls, self.failures + other.failures)


def load() -> dict[Place, int]:
    """Return how often each team called each tool."""
    rows = ToolUsage.objects.values_list("tool_id", "team_id", "calls")
    return {(tool, team): calls for tool, team, calls in rows}


def add(counts: Mapping[Place, Count], *, at: datetime) -> dict[Place, int]:
    """Add to what is counted; return all calls counted so far, of these tools and teams.

    Writers of several processes may add at once. What is of a tool or team that is gone is lost.

    Args:
        counts: Calls since the last time.
        at: When the last of them was.
    """
    rows = [
        {"tool": tool, "team": team, "calls": count.calls, "failures": count.failures}
        for (tool, team), count in counts.items()
    ]

    def write() -> dict[Place, int]:
        with connection.cursor() as cursor:
            cursor.execute(_ADD, [at, json.dumps(rows)])
            return {(tool, team): calls for tool, team, calls in cursor.fetchall()}

    return writing.retried(write) if rows else {}
