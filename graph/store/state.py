"""Versions of the inputs of stored relations and metrics: last used, and current ones."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import connection

from graph.models import GraphState

FORGOTTEN_PREFIX: Final = "forgotten "
"""Prefix of the unique value that replaces an invalidated version."""

# A sum of hashes is independent of order, so rows need no sorting. 64 bits suffice to distinguish
# versions of one catalogue; a deliberate collision would gain nothing.
_SELECT_INPUTS_VERSION = """
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

_SELECT_RELATIONS_VERSION = """
SELECT count(*) || '.' || coalesce(sum(hashtextextended(concat_ws(E'\\x1f',
           r.source_id, r.target_id, r.kind, r.required, e.source, coalesce(e.confidence, -1),
           e.successes, e.failures,
           CASE WHEN e.source = 'observed' THEN e.last_seen_at END), 0)), 0),
       coalesce(bool_or(e.source = 'observed'), false)
FROM graph_relationevidence e
JOIN graph_tooldependency r ON r.id = e.relation_id
WHERE NOT r.rejected AND e.team_id IS NULL
"""


def load_state() -> GraphState:
    """Return what was last derived and computed."""
    return GraphState.objects.first() or GraphState()


def inputs_version() -> str:
    """Return the version of all definitions, trusted servers and result shapes."""
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_INPUTS_VERSION)
        (version,) = cursor.fetchone()
    return str(version)


def shared_relations_version(now: datetime) -> str:
    """Return the version of the shared relations.

    It includes the day if any is observed, since observations decay from day to day.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_RELATIONS_VERSION)
        version, is_observed = cursor.fetchone()
    return f"{version}.{now:%Y%m%d}" if is_observed else str(version)


def record_derived(version: str, *, at: datetime, since: str) -> None:
    """Record that relations were derived from this version of schemas and shapes.

    Args:
        version: Version they were derived from.
        at: Time of the derivation.
        since: Version stored when the derivation began; if it has changed since, relations must
            be derived again, and nothing is recorded.
    """
    GraphState.objects.get_or_create(pk=1)
    GraphState.objects.filter(pk=1, derived_from=since).update(derived_from=version, derived_at=at)


def record_computed(version: str, *, at: datetime, statistics: Mapping[str, Any]) -> None:
    """Record that metrics were computed from this version of the relations."""
    GraphState.objects.update_or_create(
        pk=1,
        defaults={"computed_from": version, "computed_at": at, "statistics": dict(statistics)},
    )


def invalidate_derived() -> None:
    """Force relations to be derived again although their inputs have not changed."""
    version = f"{FORGOTTEN_PREFIX}{secrets.token_hex(8)}"
    GraphState.objects.update_or_create(pk=1, defaults={"derived_from": version})
