"""Stored usage: how often teams called tools, and which ones together."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import Max

from graph.models import ToolUsage
from graph.record import CallCount
from graph.relations import EvidenceSource, RelationKind
from graph.store import writing

UsageKey = tuple[int, int | None]
"""Primary keys of a tool and of the team that calls it; None: a caller without a team."""
ToolPair = tuple[int, int]
"""Primary keys of two tools, the smaller first."""

MAX_PAIRS: Final = 1_000

_ADD_COUNTS = """
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

_SELECT_PARTNERS = f"""
SELECT found.source_id, found.target_id
FROM graph_tooldependency AS found
JOIN graph_relationevidence AS said ON said.relation_id = found.id
WHERE found.kind = '{RelationKind.OFTEN_USED_WITH.value}'
  AND said.source = '{EvidenceSource.OBSERVED.value}'
  AND said.team_id IS NOT DISTINCT FROM %(team)s
  AND (found.source_id = ANY(%(tools)s) OR found.target_id = ANY(%(tools)s))
ORDER BY found.source_id = ANY(%(tools)s) AND found.target_id = ANY(%(tools)s) DESC,
         said.successes DESC, found.id
LIMIT %(limit)s
"""


def load_usage() -> dict[UsageKey, int]:
    """Return how often each team called each tool."""
    rows = ToolUsage.objects.values_list("tool_id", "team_id", "calls")
    return {(tool, team): calls for tool, team, calls in rows}


def load_recent_servers(*, since: datetime) -> list[str]:
    """Return the names of servers called since a time, those called last first."""
    called = ToolUsage.objects.filter(last_called_at__gte=since)
    latest = called.values("tool__server__name").annotate(at=Max("last_called_at"))
    return list(latest.order_by("-at").values_list("tool__server__name", flat=True))


def add_usage(counts: Mapping[UsageKey, CallCount], *, at: datetime) -> dict[UsageKey, int]:
    """Add to the stored counts; return the total calls of these tools and teams.

    Safe with concurrent writers. Counts of deleted tools or teams are lost.
    """
    rows = [
        {"tool": tool, "team": team, "calls": count.calls, "failures": count.failures}
        for (tool, team), count in counts.items()
    ]

    def write() -> dict[UsageKey, int]:
        with connection.cursor() as cursor:
            cursor.execute(_ADD_COUNTS, [at, json.dumps(rows)])
            return {(tool, team): calls for tool, team, calls in cursor.fetchall()}

    return writing.retry_on_conflict(write) if rows else {}


def load_partners(team: int | None, tools: Collection[int]) -> list[ToolPair]:
    """Return the pairs that a team used together and that include at least one of some tools.

    At most `MAX_PAIRS`: those within `tools` come first, then those used together most often.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_PARTNERS, {"team": team, "tools": list(tools), "limit": MAX_PAIRS})
        return [(source, target) for source, target in cursor.fetchall()]
