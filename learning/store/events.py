"""Stores events of the episodic memory, and reads them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import QuerySet

from execution.snapshot import compute_run_session
from learning.memory.encoding import Record
from learning.memory.event import KIND_CODES, Event, EventKind, EventOutcome, IntentVectorRecord
from learning.memory.stored_observation import (
    FIELD,
    UnreadableObservation,
    compress_observation,
    restore_observation,
)
from learning.models.events import NO_TEAM, EpisodicEvent, IntentVector
from learning.store import events, totals

_COLUMNS: Final = (
    "at", "team_id", "session", "tool", "arguments_hash", "context_hash", "context_check",
    "intent_hash", "prediction", "duration_ms", "weight", "kind", "outcome", "data",
    "observation", "sealed",
)  # fmt: skip
_TYPES: Final = (
    "timestamptz", "int8", "int8", "int8", "int8", "int8", "int8",
    "int8", "uuid", "float8", "float8", "int2", "int2", "jsonb",
    "bytea", "bytea",
)  # fmt: skip
_COPY: Final = f"COPY learning_episodicevent ({', '.join(_COLUMNS)}) FROM STDIN (FORMAT BINARY)"
_KINDS: Final = {code: kind for kind, code in KIND_CODES.items()}

_OF_TEAM: Final = f"coalesce(team_id, {NO_TEAM}) = %(team)s"
_OF_INTENTS: Final = f"""
SELECT {", ".join(_COLUMNS)} FROM learning_episodicevent
WHERE intent_hash = ANY(%(hashes)s) AND {_OF_TEAM} ORDER BY at DESC LIMIT %(limit)s
"""

_BEGIN_FILE = """
INSERT INTO learning_eventspool (id, position, loaded_at) VALUES (%s, 0, now())
ON CONFLICT (id) DO NOTHING
"""
_ADVANCE = """
UPDATE learning_eventspool SET position = %(end)s, loaded_at = now()
WHERE id = %(spool)s AND position = %(start)s
"""
_ADD_VECTORS = """
INSERT INTO learning_intentvector (team_id, intent_hash, model, sealed, seen_at)
SELECT team, intent_hash, model, sealed, to_timestamp(at)
FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::bytea[], %s::float8[])
     AS given (team, intent_hash, model, sealed, at)
ON CONFLICT (team_id, model, intent_hash) DO NOTHING
"""
_LOAD_OBSERVATIONS = f"""
SELECT session, observation, extract(epoch FROM ended_at), person FROM (
    SELECT session, at, id, observation, person, max(at) OVER (PARTITION BY session) AS ended_at
    FROM (
        SELECT session, at, id, observation, (data ->> 'person')::bigint AS person
        FROM learning_episodicevent
        WHERE {_OF_TEAM} AND at >= %(since)s AND observation IS NOT NULL
        ORDER BY at DESC LIMIT %(limit)s
    ) AS newest
) AS placed
ORDER BY ended_at, session, at, id
"""


log = structlog.get_logger(__name__)


_MS_PER_S = 1_000
_FIND_TOOL = """
SELECT tool.id FROM tools_tool AS tool JOIN tools_server AS server ON server.id = tool.server_id
WHERE server.name || ':' || tool.name = %s
"""


class PositionMoved(Exception):
    """Another loader has loaded from the file meanwhile; nothing was stored."""


class RecordRefused(Exception):
    """PostgreSQL cannot hold a value of one of the records; nothing was stored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionObservations:
    """What the calls of one session teach, in the order of the calls.

    Attributes:
        observations: `data["observation"]` of its events.
        ended_at: When it made the last of these calls, Unix time in seconds.
        person: Primary key of its user's private team; None: unknown.
    """

    session: int
    observations: Sequence[Mapping[str, Any]]
    ended_at: float = field(default=0.0, compare=False)
    person: int | None = field(default=None, compare=False)


def load_position(spool: UUID) -> int:
    """Return how many bytes of a spool file have been loaded; 0: none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT position FROM learning_eventspool WHERE id = %s", [spool])
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def store_records(records: Collection[Record], *, spool: UUID, start: int, end: int) -> int:
    """Store records of a spool file, and in the same transaction how far it has been loaded.

    Those of deleted teams are left out.

    Args:
        records: The records between the two positions.
        spool: Id of the file.
        start: Position in bytes up to which it was loaded before.
        end: Position in bytes up to which it is loaded afterwards.

    Returns:
        Number of events and vectors of deleted teams.

    Raises:
        PositionMoved: If it was not loaded up to `start` exactly.
        RecordRefused: If a value of a record cannot be stored.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            _advance_position(cursor, spool, start=start, end=end)
            return _add_records(cursor, records)
    except (DataError, IntegrityError, ValueError, OverflowError) as error:
        raise RecordRefused(type(error).__name__) from error


def _advance_position(cursor: Any, spool: UUID, *, start: int, end: int) -> None:
    cursor.execute(_BEGIN_FILE, [spool])
    cursor.execute(_ADVANCE, {"spool": spool, "start": start, "end": end})
    if cursor.rowcount != 1:
        raise PositionMoved


def _add_records(cursor: Any, records: Collection[Record]) -> int:
    """Add records; return the number of those of deleted teams, which are left out."""
    teams = _lock_teams(cursor, {record.team for record in records} - {None})
    kept = [record for record in records if record.team is None or record.team in teams]
    events = [one for one in kept if isinstance(one, Event)]
    _copy_events(cursor, events)
    totals.add_events(events)
    _add_vectors(cursor, [one for one in kept if isinstance(one, IntentVectorRecord)])
    return len(records) - len(kept)


def _lock_teams(cursor: Any, teams: Collection[int | None]) -> set[int]:
    """Return which teams exist, and keep these from being deleted in this transaction."""
    if not teams:
        return set()
    cursor.execute(
        "SELECT id FROM tools_team WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [list(teams)]
    )
    return {pk for (pk,) in cursor.fetchall()}


def _copy_events(cursor: Any, events: Iterable[Event]) -> None:
    rows = [_event_to_row(event) for event in events]
    if not rows:
        return
    with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
        copy.set_types(_TYPES)
        for row in rows:
            copy.write_row(row)


def _event_to_row(event: Event) -> tuple[Any, ...]:
    data = dict(event.data)
    observation = data.pop(FIELD, None)
    return (
        datetime.fromtimestamp(event.at, UTC),
        event.team,
        event.session,
        event.tool,
        event.arguments_hash,
        event.context_hash,
        event.context_check,
        event.intent_hash,
        event.prediction,
        event.duration_ms,
        event.weight,
        KIND_CODES[event.kind],
        None if event.outcome is None else int(event.outcome),
        data or None,
        None if observation is None else compress_observation(observation),
        event.sealed or None,
    )


def _add_vectors(cursor: Any, vectors: Collection[IntentVectorRecord]) -> None:
    if vectors:
        distinct = {(one.team, one.model, one.intent_hash): one for one in vectors}.values()
        cursor.execute(
            _ADD_VECTORS,
            [
                [one.team for one in distinct],
                [one.intent_hash for one in distinct],
                [one.model for one in distinct],
                [one.sealed for one in distinct],
                [one.at for one in distinct],
            ],
        )


def insert_event(event: Event) -> None:
    """Store an event in the current transaction, beside what it is about."""
    with connection.cursor() as cursor:
        _add_records(cursor, [event])


def forget_file(spool: UUID) -> None:
    """Forget the position of a file that has been deleted."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM learning_eventspool WHERE id = %s", [spool])


def load_observations(
    team: int | None, *, since: datetime, limit: int
) -> Iterator[SessionObservations]:
    """Yield what the calls of a team's sessions teach, sessions that ended first coming first.

    Sessions with an observation that cannot be read are left out.
    """
    values: dict[str, Any] = {
        "team": team or NO_TEAM,
        "since": since,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOAD_OBSERVATIONS, values)
        for (session, ended_at, person), rows in groupby(cursor, key=itemgetter(0, 2, 3)):
            try:
                observations = [restore_observation(row[1]) for row in rows]
            except UnreadableObservation as error:
                log.warning("events.observation_unreadable", team=team, reason=str(error))
                continue
            yield SessionObservations(
                session=session,
                observations=observations,
                ended_at=float(ended_at),
                person=person,
            )


def select_visible(team: int | None, *, every_team: bool = False) -> QuerySet[EpisodicEvent]:
    """Return the events that a team sees, its own, without what is sealed."""
    rows = EpisodicEvent.objects.defer("observation", "sealed")
    return rows if every_team else rows.filter(team=team)


def load_events_of_intents(
    team: int | None, intent_hashes: Collection[int], *, limit: int
) -> list[Event]:
    """Return a team's events about some texts, the newest first."""
    values: dict[str, Any] = {
        "team": team or NO_TEAM,
        "hashes": list(intent_hashes),
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(_OF_INTENTS, values)
        return [_row_to_event(row) for row in cursor.fetchall()]


def load_sealed_vectors(team: int | None, model: str, *, limit: int) -> list[tuple[int, bytes]]:
    """Return the newest vectors of a team's intents: hash of the text, and the sealed vector."""
    rows = IntentVector.objects.filter(team=team, model=model).order_by("-pk")
    return [
        (intent_hash, bytes(sealed))
        for intent_hash, sealed in rows.values_list("intent_hash", "sealed")[:limit]
    ]


def _row_to_event(row: Sequence[Any]) -> Event:
    values = dict(zip(_COLUMNS, row, strict=True))
    data = json.loads(values["data"]) if values["data"] else {}
    if values["observation"] is not None:
        data[FIELD] = restore_observation(values["observation"])
    return Event(
        kind=_KINDS[values["kind"]],
        at=values["at"].timestamp(),
        team=values["team_id"],
        session=values["session"],
        tool=values["tool"],
        arguments_hash=values["arguments_hash"],
        context_hash=values["context_hash"],
        context_check=values["context_check"],
        intent_hash=values["intent_hash"],
        prediction=values["prediction"],
        duration_ms=values["duration_ms"],
        weight=values["weight"],
        outcome=None if values["outcome"] is None else EventOutcome(values["outcome"]),
        data=data,
        sealed=bytes(values["sealed"] or b""),
    )


def record_person_decision(  # noqa: PLR0913 - the columns of one event
    *,
    run: UUID,
    tool: str,
    team: int | None,
    approved: bool,
    via: str,
    asked_at: datetime,
    decided_at: datetime,
) -> None:
    """Record a person's decision about a call of a run, in the current transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_FIND_TOOL, [tool])
        row = cursor.fetchone()
    events.insert_event(
        Event(
            kind=EventKind.HIL_DECISION,
            at=decided_at.timestamp(),
            team=team,
            session=compute_run_session(run),
            tool=None if row is None else row[0],
            duration_ms=(decided_at - asked_at).total_seconds() * _MS_PER_S,
            data={
                "run": str(run),
                "decision": "approved" if approved else "rejected",
                "via": via,
            },
        )
    )
