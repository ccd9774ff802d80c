"""What the stored relations and metrics were computed from, and what they would be from now."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from graph.models import GraphState

FORGOTTEN: Final = "forgotten "
"""What stands before a number of its own in place of a version, so that none is overwritten."""

# Lines in any order: a sum of hashes needs no sorting. 64 bits tell versions of one catalogue
# apart; nobody gains anything by making two alike.
_INPUTS = """
SELECT count(*) || '.' || coalesce(sum(hashtextextended(line, 0)), 0)
FROM (
    SELECT concat_ws(E'\\x1f', t.id, s.name, coalesce(s.team_id, 0), s.trusted, t.name, d.hash)
           AS line
    FROM tools_tool t
    JOIN tools_server s ON s.id = t.server_id
    JOIN tools_tooldefinition d ON d.id = t.definition_id
    WHERE t.state <> 'removed'
    UNION ALL
    SELECT concat_ws(E'\\x1f', 'shape', tool_id, coalesce(team_id, 0), definition_hash, schema)
    FROM graph_outputshape
) AS lines
"""

_RELATIONS = """
SELECT count(*) || '.' || coalesce(sum(hashtextextended(concat_ws(E'\\x1f',
           r.source_id, r.target_id, r.kind, r.required, e.source, coalesce(e.confidence, -1),
           e.successes, e.failures,
           CASE WHEN e.source = 'observed' THEN e.last_seen_at END), 0)), 0),
       coalesce(bool_or(e.source = 'observed'), false)
FROM graph_relationevidence e
JOIN graph_tooldependency r ON r.id = e.relation_id
WHERE NOT r.rejected AND e.team_id IS NULL
"""


@dataclass(frozen=True, kw_only=True)
class State:
    """What was computed last.

    Attributes:
        derived_from: Version of the schemas and shapes that relations come from.
        derived_at: When they were derived; None: never.
        computed_from: Version of the shared relations that metrics come from.
        computed_at: When they were computed; None: never.
        statistics: Of the shared graph then.
    """

    derived_from: str = ""
    derived_at: datetime | None = None
    computed_from: str = ""
    computed_at: datetime | None = None
    statistics: Mapping[str, Any]


def load() -> State:
    """Return what was computed last."""
    row = GraphState.objects.first() or GraphState()
    return State(
        derived_from=row.derived_from,
        derived_at=row.derived_at,
        computed_from=row.computed_from,
        computed_at=row.computed_at,
        statistics=row.statistics,
    )


def inputs() -> str:
    """Return the version of the tools' definitions, whom a person trusts, and results' shapes."""
    with connection.cursor() as cursor:
        cursor.execute(_INPUTS)
        (version,) = cursor.fetchone()
    return str(version)


def shared_relations(now: datetime) -> str:
    """Return the version of the relations that everybody sees.

    What was observed weighs less from day to day, so where anything was the day belongs to it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RELATIONS)
        version, is_observed = cursor.fetchone()
    return f"{version}.{now:%Y%m%d}" if is_observed else str(version)


def note_derived(version: str, *, at: datetime, since: str) -> None:
    """Take note that relations were derived from this version of schemas and shapes.

    Args:
        version: Of what they were derived from.
        at: When.
        since: Version that was stored when it began; if there is another one now, relations are
            to be derived anew, and nothing is noted.
    """
    GraphState.objects.get_or_create(pk=1)
    GraphState.objects.filter(pk=1, derived_from=since).update(derived_from=version, derived_at=at)


def note_computed(version: str, *, at: datetime, statistics: Mapping[str, Any]) -> None:
    """Take note that metrics were computed from this version of the relations."""
    GraphState.objects.update_or_create(
        pk=1,
        defaults={"computed_from": version, "computed_at": at, "statistics": dict(statistics)},
    )


def forget_derived() -> None:
    """Have relations derived anew next time, although nothing they come from has changed."""
    again = f"{FORGOTTEN}{secrets.token_hex(8)}"
    GraphState.objects.update_or_create(pk=1, defaults={"derived_from": again})
