"""Which tools a team has used together with others, as far as its runs show."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from django.db import connection

from graph.relations import Kind, Source

Pair = tuple[int, int]
"""Primary keys of two tools, the smaller first."""

_PARTNERS = f"""
SELECT found.source_id, found.target_id
FROM graph_tooldependency AS found
JOIN graph_relationevidence AS said ON said.relation_id = found.id
WHERE found.kind = '{Kind.OFTEN_USED_WITH.value}' AND said.source = '{Source.OBSERVED.value}'
  AND said.team_id IS NOT DISTINCT FROM %(team)s
  AND (found.source_id = ANY(%(tools)s) OR found.target_id = ANY(%(tools)s))
ORDER BY found.source_id = ANY(%(tools)s) AND found.target_id = ANY(%(tools)s) DESC,
         said.successes DESC, found.id
LIMIT %(limit)s
"""

MAX_PAIRS: Final = 1_000


def partners(team: int | None, tools: Collection[int], *, limit: int = MAX_PAIRS) -> list[Pair]:
    """Return the pairs that a team has used together and of which one or both are given.

    Args:
        team: Primary key; None: callers without a team.
        tools: Primary keys.
        limit: How many at most: those of which both are given come first, then those used
            together most.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PARTNERS, {"team": team, "tools": list(tools), "limit": limit})
        return [(one, other) for one, other in cursor.fetchall()]
