"""The statements that write relations and evidence: a few for many rows, safe beside others."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeVar

import psycopg
from django.db import DatabaseError, connection, transaction

from graph.record import Observation, Record, Said
from graph.relations import HALF_LIFE_DAYS, SECONDS_A_DAY, Key, Kind, Source
from tools.definition import storable
from tools.models import Team

T = TypeVar("T")

CHUNK_ROWS: Final = 2_000
"""Rows written by one statement: what is encoded at once holds up the event loop no longer."""
ATTEMPTS: Final = 5
_AGAIN: Final = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.ForeignKeyViolation,
)
"""What another writer can cause, and is over once it has committed."""
MAX_HALVINGS: Final = 100
"""What is older counts as much as that: next to nothing, and no number too small to be one."""
MAX_ORIGIN_CHARS: Final = 200

# Without a lock: who deletes a tool has locked its evidence first, and would wait for a writer
# that waits for just that. A tool that goes in between breaks the commit, and all is done again.
_TOOLS = "SELECT id FROM tools_tool WHERE id = ANY(%s)"

_RELATIONS = """
json_to_recordset(%(rows)s) AS given (
    source bigint, target bigint, kind text, required bool, rejected bool, reason text,
    version text, deprecated_at date, settles bool
)
"""

INSERT = f"""
INSERT INTO graph_tooldependency (
    source_id, target_id, kind, required, rejected, reason, version, deprecated_at, created_at
)
SELECT source, target, kind, required, rejected, reason, version, deprecated_at, %(at)s
FROM {_RELATIONS}
ORDER BY source, target, kind
ON CONFLICT (source_id, target_id, kind) DO NOTHING
RETURNING id
"""

OVERWRITE = f"""
UPDATE graph_tooldependency AS stored
SET required = given.required, reason = given.reason, version = given.version,
    deprecated_at = given.deprecated_at,
    rejected = given.rejected OR (stored.rejected AND NOT %(may_hold)s)
FROM {_RELATIONS}
WHERE stored.source_id = given.source AND stored.target_id = given.target
  AND stored.kind = given.kind
  AND (stored.required, stored.reason, stored.version, stored.deprecated_at, stored.rejected)
      IS DISTINCT FROM (given.required, given.reason, given.version, given.deprecated_at,
                        given.rejected OR (stored.rejected AND NOT %(may_hold)s))
  AND (given.settles OR NOT EXISTS (
      SELECT FROM graph_relationevidence
      WHERE relation_id = stored.id AND source = 'curated'
        AND origin IS DISTINCT FROM %(origin)s))
RETURNING stored.id
"""

_EVIDENCE = """
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

_ADD = f"""{_EVIDENCE} UPDATE SET
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

_REPLACE = f"""{_EVIDENCE} UPDATE SET
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
SET = _REPLACE.format(whose="true")
SET_OWN = _REPLACE.format(whose="known.origin = excluded.origin")
"""The same where nobody else has put their word in its place."""

FIRST_WORD = f"{_EVIDENCE} NOTHING RETURNING relation_id"

_SWEEP = """
DELETE FROM graph_tooldependency AS stored
WHERE NOT rejected AND (%(pks)s::bigint[] IS NULL OR id = ANY(%(pks)s))
  AND NOT EXISTS (SELECT FROM graph_relationevidence WHERE relation_id = stored.id)
"""


def _aged(seen_at: str) -> str:
    """Return the SQL of how much counts of one time are worth at the later of the two."""
    later = "greatest(known.last_seen_at, excluded.last_seen_at)"
    days = f"extract(epoch FROM {later} - {seen_at})::float8 / {SECONDS_A_DAY}"
    return f"power(0.5::float8, least({days} / {HALF_LIFE_DAYS}::float8, {MAX_HALVINGS}))"


_ADD = _ADD.format(old=_aged("known.last_seen_at"), new=_aged("excluded.last_seen_at"))


def retried(work: Callable[[], T]) -> T:
    """Do work that is one transaction, again where another writer came in its way.

    Inside a transaction of the caller's it is done once: only the caller can begin that anew.
    """
    attempts = 1 if connection.in_atomic_block else ATTEMPTS
    for _ in range(attempts - 1):
        try:
            return work()
        except DatabaseError as error:
            if not isinstance(error.__cause__, _AGAIN):
                raise
    return work()


def missing_tools(keys: Iterable[Key]) -> set[int]:
    """Return the tools of these relations that are not there."""
    return missing(tool for source, target, _ in keys for tool in (source, target))


def missing(tools: Iterable[int]) -> set[int]:
    """Return those of some tools that are not there."""
    wanted = sorted(set(tools))
    with connection.cursor() as cursor:
        cursor.execute(_TOOLS, [wanted])
        return set(wanted).difference(pk for (pk,) in cursor.fetchall())


def observe(team: int | None, wanted: Sequence[Observation]) -> tuple[int, int]:
    """Add observations, one a relation; return how many relations are new, and how many known.

    What was observed to go with another is not required for that: only others can say so.
    """
    with transaction.atomic():
        if team is not None and not Team.objects.filter(pk=team).exists():
            return 0, 0
        missing = missing_tools(one.key for one in wanted)
        there = [one for one in wanted if not missing.intersection((one.source, one.target))]
        rows = [
            Record(
                source=one.source,
                target=one.target,
                kind=one.kind,
                required=one.kind is not Kind.DEPENDS_ON,
                said=(_seen(team, one),),
            )
            for one in there
        ]
        added = returned(INSERT, map(relation, rows), at=_latest(there))
        returned(_ADD, evidence(rows), rejected_too=True)
    return len(added), len(there)


def _latest(observations: Sequence[Observation]) -> datetime | None:
    return max((one.at for one in observations), default=None)


def _seen(team: int | None, one: Observation) -> Said:
    return Said(
        source=Source.OBSERVED,
        team=team,
        confidence=None,
        successes=one.successes,
        failures=one.failures,
        seconds=one.seconds,
        last_seen=one.at,
    )


def put(wanted: Mapping[Key, Record], *, at: datetime, may_hold: bool) -> tuple[int, int]:
    """Store relations of tools that are there; return how many are new, and how many differ.

    Args:
        wanted: By key.
        at: When.
        may_hold: Whether this takes back a rejection.
    """
    rows = [_placed(key, wanted[key]) for key in sorted(wanted)]
    added = returned(INSERT, map(relation, rows), at=at)
    changed = returned(OVERWRITE, map(relation, rows), may_hold=may_hold, origin=None)
    changed |= returned(SET, evidence(rows), rejected_too=True)
    return len(added), len(changed - added)


def _placed(key: Key, one: Record) -> Record:
    """Return a relation the way round it is stored."""
    if one.key == key:
        return one
    return replace(one, source=key[0], target=key[1])


def sweep(pks: Collection[int] | None) -> int:
    """Delete relations that nothing speaks for and nobody rejected; of these, or of all."""
    with connection.cursor() as cursor:
        cursor.execute(_SWEEP, {"pks": None if pks is None else list(pks)})
        return int(cursor.rowcount)


def relation(one: Record) -> dict[str, Any]:
    """Return a relation as the statements take it, without its evidence."""
    return {
        "source": one.source,
        "target": one.target,
        "kind": one.kind.value,
        "required": one.required,
        "rejected": one.rejected,
        "reason": storable(one.reason),
        "version": storable(one.version),
        "deprecated_at": None if one.deprecated_at is None else one.deprecated_at.isoformat(),
        "settles": one.rejected or any(said.source is Source.CURATED for said in one.said),
    }


def evidence(rows: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield the evidence of relations as the statements take it."""
    for row in rows:
        for said in row.said:
            yield {
                "source": row.source,
                "target": row.target,
                "kind": row.kind.value,
                "said": said.source.value,
                "team": said.team,
                "origin": storable(said.origin)[:MAX_ORIGIN_CHARS],
                "confidence": said.confidence,
                "successes": said.successes,
                "failures": said.failures,
                "seconds": said.seconds,
                "fields": storable([dict(field) for field in said.fields]),
                "at": said.last_seen.isoformat(),
            }


def returned(sql: str, rows: Iterable[dict[str, Any]], **parameters: Any) -> set[int]:
    """Run a statement on rows, some at a time, and return the primary keys it returns."""
    found: set[int] = set()
    remaining = iter(rows)
    with connection.cursor() as cursor:
        while chunk := list(islice(remaining, CHUNK_ROWS)):
            cursor.execute(sql, {"rows": json.dumps(chunk), **parameters})
            found.update(pk for (pk,) in cursor.fetchall())
    return found
