"""SQL statements that write relations and evidence in bulk, safe with concurrent writers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeVar

import psycopg
from django.db import DatabaseError, connection, transaction

from graph.record import RelationObservation, RelationRecord
from graph.relations import (
    HALF_LIFE_DAYS,
    SECONDS_A_DAY,
    Evidence,
    EvidenceSource,
    RelationKey,
    RelationKind,
)
from tools.definition import make_storable
from tools.models import Team

T = TypeVar("T")

CHUNK_ROWS: Final = 2_000
"""Rows written by one statement, so that encoding them never blocks the event loop for long."""
MAX_ATTEMPTS: Final = 10
"""Several tools that are deleted one after the other may each cost an attempt."""
_RETRYABLE_ERRORS: Final = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.ForeignKeyViolation,
)
"""Errors caused by a concurrent writer, gone once it has committed."""
MAX_HALVINGS: Final = 100
"""Cap on the half-lives of a decay: a weight near zero, without floating-point underflow."""
MAX_ORIGIN_CHARS: Final = 200

# Takes no lock: a transaction that deletes a tool locks its evidence first, so locking here could
# deadlock with it. If a tool is deleted in between, the commit fails and is retried.
_LOCK_TOOLS = "SELECT id FROM tools_tool WHERE id = ANY(%s)"

_RELATION_ROWS = """
json_to_recordset(%(rows)s) AS given (
    source bigint, target bigint, kind text, required bool, rejected bool, reason text,
    version text, deprecated_at date, settles bool
)
"""

INSERT_RELATIONS = f"""
INSERT INTO graph_tooldependency (
    source_id, target_id, kind, required, rejected, reason, version, deprecated_at, created_at
)
SELECT source, target, kind, required, rejected, reason, version, deprecated_at, %(at)s
FROM {_RELATION_ROWS}
ORDER BY source, target, kind
ON CONFLICT (source_id, target_id, kind) DO NOTHING
RETURNING id
"""

OVERWRITE_RELATIONS = f"""
UPDATE graph_tooldependency AS stored
SET required = given.required, reason = given.reason, version = given.version,
    deprecated_at = given.deprecated_at,
    rejected = given.rejected OR (stored.rejected AND NOT %(lift_rejections)s)
FROM {_RELATION_ROWS}
WHERE stored.source_id = given.source AND stored.target_id = given.target
  AND stored.kind = given.kind
  AND (stored.required, stored.reason, stored.version, stored.deprecated_at, stored.rejected)
      IS DISTINCT FROM (given.required, given.reason, given.version, given.deprecated_at,
                        given.rejected OR (stored.rejected AND NOT %(lift_rejections)s))
  AND (given.settles OR NOT EXISTS (
      SELECT FROM graph_relationevidence
      WHERE relation_id = stored.id AND source = 'curated'
        AND origin IS DISTINCT FROM %(origin)s))
RETURNING stored.id
"""

_INSERT_EVIDENCE = """
INSERT INTO graph_relationevidence AS known (
    relation_id, source, team_id, origin, confidence, successes, failures, seconds, fields,
    last_seen_at
)
SELECT stored.id, said, team, origin, confidence, successes, failures, seconds, fields, at
FROM json_to_recordset(%(rows)s) AS given (
    source bigint, target bigint, kind text, said text, team bigint, origin text,
    confidence float8, successes float8, failures float8, seconds float8, fields jsonb,
    at timestamptz
)
JOIN graph_tooldependency AS stored
  ON stored.source_id = given.source AND stored.target_id = given.target
 AND stored.kind = given.kind
WHERE %(rejected_too)s OR NOT stored.rejected
ORDER BY stored.id, said, team
ON CONFLICT (relation_id, source, team_id) DO
"""

_ADD_EVIDENCE = f"""{_INSERT_EVIDENCE} UPDATE SET
    successes = known.successes * {{old}} + excluded.successes * {{new}},
    failures = known.failures * {{old}} + excluded.failures * {{new}},
    seconds = coalesce(
        (known.seconds * known.successes * {{old}}
         + excluded.seconds * excluded.successes * {{new}})
        / nullif(known.successes * {{old}} + excluded.successes * {{new}}, 0),
        excluded.seconds, known.seconds),
    last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)
RETURNING relation_id
"""

_REPLACE_EVIDENCE = f"""{_INSERT_EVIDENCE} UPDATE SET
    origin = excluded.origin, confidence = excluded.confidence, successes = excluded.successes,
    failures = excluded.failures, seconds = excluded.seconds, fields = excluded.fields,
    last_seen_at = excluded.last_seen_at
WHERE ({{whose}}) AND ((known.origin, known.confidence, known.successes, known.failures,
        known.seconds, known.fields)
       IS DISTINCT FROM (excluded.origin, excluded.confidence, excluded.successes,
                         excluded.failures, excluded.seconds, excluded.fields)
   OR (known.source = 'observed' AND known.last_seen_at <> excluded.last_seen_at))
RETURNING relation_id
"""
SET_EVIDENCE = _REPLACE_EVIDENCE.format(whose="true")
SET_OWN_EVIDENCE = _REPLACE_EVIDENCE.format(whose="known.origin = excluded.origin")
"""Like `SET_EVIDENCE`, but only where the stored evidence has the same origin."""

INSERT_NEW_EVIDENCE = f"{_INSERT_EVIDENCE} NOTHING RETURNING relation_id"

_DELETE_UNSUPPORTED = """
DELETE FROM graph_tooldependency AS stored
WHERE NOT rejected AND (%(pks)s::bigint[] IS NULL OR id = ANY(%(pks)s))
  AND NOT EXISTS (SELECT FROM graph_relationevidence WHERE relation_id = stored.id)
"""


def _decay_sql(seen_at: str) -> str:
    """Return SQL for the weight of counts of one time at the later of the two times."""
    later = "greatest(known.last_seen_at, excluded.last_seen_at)"
    days = f"extract(epoch FROM {later} - {seen_at})::float8 / {SECONDS_A_DAY}"
    return f"power(0.5::float8, least({days} / {HALF_LIFE_DAYS}::float8, {MAX_HALVINGS}))"


_KEPT_SHARE = "(1 - %(td_rate)s * least(excluded.successes + excluded.failures, 1))"

_ADD_EVIDENCE = _ADD_EVIDENCE.format(
    old=f"{_decay_sql('known.last_seen_at')} * {_KEPT_SHARE}",
    new=_decay_sql("excluded.last_seen_at"),
)


def retry_on_conflict(work: Callable[[], T]) -> T:
    """Run work that is one transaction; retry it on conflicts with concurrent writers.

    Inside a transaction of the caller it runs once, since only the caller can restart that.
    """
    attempts = 1 if connection.in_atomic_block else MAX_ATTEMPTS
    for _ in range(attempts - 1):
        try:
            return work()
        except DatabaseError as error:
            if not isinstance(error.__cause__, _RETRYABLE_ERRORS):
                raise
    return work()


def find_missing_tools(keys: Iterable[RelationKey]) -> set[int]:
    """Return the tools of these relations that do not exist."""
    return find_missing(tool for source, target, _ in keys for tool in (source, target))


def find_missing(tools: Iterable[int]) -> set[int]:
    """Return the tools that do not exist."""
    wanted = sorted(set(tools))
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_TOOLS, [wanted])
        return set(wanted).difference(pk for (pk,) in cursor.fetchall())


def add_observations(
    team: int | None, wanted: Sequence[RelationObservation], *, td_rate: float = 0.0
) -> tuple[int, int]:
    """Add observations, one per relation; return the number of new relations and of all stored.

    Observed dependencies are never required: only other sources can claim that.

    Args:
        team: The observing team; None: shared observations.
        wanted: The observations.
        td_rate: Share of the earlier counts that an observation of one run replaces, as TD(0)
            with this rate does; 0: all are kept.
    """
    with transaction.atomic():
        if team is not None and not Team.with_private.filter(pk=team).exists():
            return 0, 0
        missing = find_missing_tools(item.key for item in wanted)
        present = [item for item in wanted if not missing.intersection((item.source, item.target))]
        rows = [
            RelationRecord(
                source=item.source,
                target=item.target,
                kind=item.kind,
                required=item.kind is not RelationKind.DEPENDS_ON,
                evidence=(_to_observed_evidence(team, item),),
            )
            for item in present
        ]
        added = execute_returning(
            INSERT_RELATIONS, map(relation_row, rows), at=_latest_time(present)
        )
        execute_returning(_ADD_EVIDENCE, evidence_rows(rows), rejected_too=True, td_rate=td_rate)
    return len(added), len(present)


def _latest_time(observations: Sequence[RelationObservation]) -> datetime | None:
    return max((item.at for item in observations), default=None)


def _to_observed_evidence(team: int | None, observation: RelationObservation) -> Evidence:
    return Evidence(
        source=EvidenceSource.OBSERVED,
        team=team,
        confidence=None,
        successes=observation.successes,
        failures=observation.failures,
        seconds=observation.seconds,
        last_seen=observation.at,
    )


def put_relations(
    wanted: Mapping[RelationKey, RelationRecord], *, at: datetime, lift_rejections: bool
) -> tuple[int, int]:
    """Store relations of existing tools; return how many are new, and how many changed."""
    rows = [_in_stored_direction(key, wanted[key]) for key in sorted(wanted)]
    added = execute_returning(INSERT_RELATIONS, map(relation_row, rows), at=at)
    changed = execute_returning(
        OVERWRITE_RELATIONS, map(relation_row, rows), lift_rejections=lift_rejections, origin=None
    )
    changed |= execute_returning(SET_EVIDENCE, evidence_rows(rows), rejected_too=True)
    return len(added), len(changed - added)


def _in_stored_direction(key: RelationKey, relation: RelationRecord) -> RelationRecord:
    if relation.key == key:
        return relation
    return replace(relation, source=key[0], target=key[1])


def delete_unsupported(pks: Collection[int] | None) -> int:
    """Delete relations without evidence that are not rejected; of these, or of all (None)."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_UNSUPPORTED, {"pks": None if pks is None else list(pks)})
        return int(cursor.rowcount)


def relation_row(relation: RelationRecord) -> dict[str, Any]:
    """Return the row of a relation for the statements, without its evidence."""
    return {
        "source": relation.source,
        "target": relation.target,
        "kind": relation.kind.value,
        "required": relation.required,
        "rejected": relation.rejected,
        "reason": make_storable(relation.reason),
        "version": make_storable(relation.version),
        "deprecated_at": None
        if relation.deprecated_at is None
        else relation.deprecated_at.isoformat(),
        "settles": relation.rejected
        or any(evidence.source is EvidenceSource.CURATED for evidence in relation.evidence),
    }


def evidence_rows(rows: Iterable[RelationRecord]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the relations' evidence for the statements."""
    for row in rows:
        for evidence in row.evidence:
            yield {
                "source": row.source,
                "target": row.target,
                "kind": row.kind.value,
                "said": evidence.source.value,
                "team": evidence.team,
                "origin": make_storable(evidence.origin)[:MAX_ORIGIN_CHARS],
                "confidence": evidence.confidence,
                "successes": evidence.successes,
                "failures": evidence.failures,
                "seconds": evidence.seconds,
                "fields": make_storable([dict(field) for field in evidence.fields]),
                "at": evidence.last_seen.isoformat(),
            }


def execute_returning(sql: str, rows: Iterable[dict[str, Any]], **parameters: Any) -> set[int]:
    """Run a statement on rows in chunks, and return the primary keys it returns."""
    found: set[int] = set()
    remaining = iter(rows)
    with connection.cursor() as cursor:
        while chunk := list(islice(remaining, CHUNK_ROWS)):
            cursor.execute(sql, {"rows": json.dumps(chunk), **parameters})
            found.update(pk for (pk,) in cursor.fetchall())
    return found
