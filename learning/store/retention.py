"""Deletes events of the episodic memory that are no longer kept, and measures what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection, transaction

from gateway_project.foundation import advisory
from gateway_project.foundation.config import Config
from learning.memory.event import KIND_CODES, EventKind

LOCK_NAME: Final = "event retention"
EVENTS_PER_CHUNK: Final = 10_000
"""Events deleted per transaction."""
POSITION_DAYS: Final = 365
"""Days after which the position of a spool file is forgotten that nobody has loaded from since."""
VECTOR_HOURS: Final = 24
"""Age from which on a vector without an event is deleted; its event is loaded by then."""
DAY_S: Final = 86_400.0

_OF_TEAM: Final = "coalesce(team_id, 0) = %(team)s"
_PREDICTION: Final = f"kind = {KIND_CODES[EventKind.SPECULATION_END]}"

_EXPIRED = {
    "events": f"""
        SELECT id FROM learning_episodicevent AS event
        WHERE {_OF_TEAM} AND NOT {_PREDICTION} AND (
            at < now() - make_interval(secs => %(event_s)s)
            OR (at, id) <= (
                SELECT at, id FROM learning_episodicevent
                WHERE {_OF_TEAM} AND NOT {_PREDICTION}
                ORDER BY at DESC, id DESC OFFSET %(most)s LIMIT 1))
    """,
    "predictions": f"""
        SELECT id FROM learning_episodicevent
        WHERE {_OF_TEAM} AND {_PREDICTION}
          AND at < now() - make_interval(secs => %(prediction_s)s)
    """,
    "events_of_deleted_tools": f"""
        SELECT id FROM learning_episodicevent AS event
        WHERE {_OF_TEAM} AND tool IS NOT NULL
          AND NOT EXISTS (SELECT FROM tools_tool WHERE id = event.tool)
    """,
}
"""What is deleted of a team's events, by its name in `RetentionCounts`."""

_UNUSED_VECTORS = f"""
SELECT id FROM learning_intentvector AS vector
WHERE seen_at < now() - make_interval(hours => {VECTOR_HOURS}) AND NOT EXISTS (
    SELECT FROM learning_episodicevent AS event
    WHERE event.intent_hash = vector.intent_hash
      AND event.team_id IS NOT DISTINCT FROM vector.team_id)
"""
_OLD_POSITIONS = f"""
SELECT id FROM learning_eventspool WHERE loaded_at < now() - make_interval(days => {POSITION_DAYS})
"""
_SIZE = """
SELECT (SELECT count(*) FROM learning_episodicevent),
       pg_total_relation_size('learning_episodicevent')
       + pg_total_relation_size('learning_intentvector')
"""
_COLLISIONS = """
SELECT count(*), count(*) FILTER (WHERE checks > 1) FROM (
    SELECT count(DISTINCT context_check) AS checks FROM learning_episodicevent
    WHERE context_hash IS NOT NULL AND context_check IS NOT NULL GROUP BY context_hash
) AS contexts
"""


@dataclass(frozen=True, kw_only=True)
class RetentionCounts:
    """Counts of what was, or would be, deleted.

    Attributes:
        events: Events that were too old or too many.
        predictions: Resolved predictions that were too old.
        events_of_deleted_tools: Events about tools that no longer exist.
        vectors: Vectors of intents without an event.
    """

    events: int = 0
    predictions: int = 0
    events_of_deleted_tools: int = 0
    vectors: int = 0


def delete_expired(config: Config) -> RetentionCounts:
    """Delete what is no longer kept, by the database clock; nothing during another sweep."""
    with advisory.try_lock(LOCK_NAME, wait_s=0) as is_ours:
        if not is_ours:
            return RetentionCounts()
        counts = _add_up(
            (name, _delete(statement, values)) for name, statement, values in _plan(config)
        )
        _delete(_OLD_POSITIONS, {}, table="learning_eventspool")
        return RetentionCounts(
            **counts, vectors=_delete(_UNUSED_VECTORS, {}, table="learning_intentvector")
        )


def count_expired(config: Config) -> RetentionCounts:
    """Count what `delete_expired` would delete.

    An event that is both too old and about a deleted tool counts twice.
    """
    counts = _add_up(
        (name, _count(statement, values)) for name, statement, values in _plan(config)
    )
    return RetentionCounts(**counts, vectors=_count(_UNUSED_VECTORS, {}))


def _plan(config: Config) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM tools_team ORDER BY id")
        teams = [0, *(pk for (pk,) in cursor.fetchall())]
    for team in teams:
        values = {
            "team": team,
            "most": config.events_per_team,
            "event_s": config.event_days * DAY_S,
            "prediction_s": config.prediction_days * DAY_S,
        }
        for name, statement in _EXPIRED.items():
            yield name, statement, values


def _add_up(counts: Iterator[tuple[str, int]]) -> dict[str, int]:
    total = dict.fromkeys(_EXPIRED, 0)
    for name, count in counts:
        total[name] += count
    return total


def _delete(
    statement: str, values: Mapping[str, Any], *, table: str = "learning_episodicevent"
) -> int:
    deleted = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {table} WHERE id IN ({statement} LIMIT {EVENTS_PER_CHUNK})", values
            )
            count = int(cursor.rowcount)
        deleted += count
        if count < EVENTS_PER_CHUNK:
            return deleted


def _count(statement: str, values: Mapping[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({statement}) AS expired", values)
        return int(cursor.fetchone()[0])


def measure_memory() -> tuple[int, int]:
    """Return the number of events, and the bytes of events and vectors with their indexes."""
    with connection.cursor() as cursor:
        cursor.execute(_SIZE)
        events, size = cursor.fetchone()
    return events, size


def count_collisions() -> tuple[int, int]:
    """Return the number of context hashes, and of those that stand for several contexts."""
    with connection.cursor() as cursor:
        cursor.execute(_COLLISIONS)
        contexts, collided = cursor.fetchone()
    return contexts, collided
