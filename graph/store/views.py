"""Reads relations as callers see them, a hundred thousand in well under a second."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from django.db import connection

from gateway_project.foundation.garbage import uncollected
from graph import record
from graph.record import Record, Said
from graph.relations import NO_DETAIL, Key, Kind, Relation, Source

_NOBODY: Final[Mapping[int, Relation]] = MappingProxyType({})
_KINDS: Final = {kind.value: kind for kind in Kind}
_SOURCES: Final = {source.value: (source,) for source in Source}
_OBSERVED: Final = Source.OBSERVED.value

# What does not matter is NULL: reading times and JSON takes longer than all the rest.
_READ = """
SELECT stored.id, stored.source_id, stored.target_id, stored.kind, stored.required,
       stored.rejected, nullif(stored.reason, ''), nullif(stored.version, ''),
       stored.deprecated_at, said.source, said.confidence,
       CASE WHEN said.fields <> '[]' THEN said.fields::text END, said.team_id,
       CASE WHEN said.source = 'observed' THEN said.successes END,
       CASE WHEN said.source = 'observed' THEN said.failures END,
       CASE WHEN said.source = 'observed' THEN said.seconds END,
       CASE WHEN said.source = 'observed' THEN extract(epoch FROM said.last_seen_at)::float8 END
FROM graph_tooldependency AS stored
LEFT JOIN graph_relationevidence AS said ON said.relation_id = stored.id
WHERE %(pks)s::bigint[] IS NULL OR stored.id = ANY(%(pks)s)
ORDER BY stored.id
"""


class View(NamedTuple):
    """A relation as everybody sees it, and as the teams do that know more of it.

    Attributes:
        pk: Primary key.
        key: What identifies it besides.
        shared: As it is seen without a team; None where it is not.
        own: By team.
    """

    pk: int
    key: Key
    shared: Relation | None
    own: Mapping[int, Relation] = _NOBODY


def load(pks: Collection[int] | None = None, *, now: datetime) -> list[View]:
    """Return relations as callers see them; one query.

    Args:
        pks: Primary keys of those wanted; None: all. Such as are gone are left out.
        now: Time that the age of observations is taken at.
    """
    with connection.cursor() as cursor, uncollected():
        cursor.execute(_READ, {"pks": None if pks is None else list(pks)})
        return [_view(list(rows), now) for _, rows in groupby(cursor, key=itemgetter(0))]


def _view(rows: list[tuple[Any, ...]], now: datetime) -> View:
    pk, source, target, kind = rows[0][:4]
    key = (source, target, _KINDS[kind])
    if len(rows) == 1 and rows[0][9] != _OBSERVED and rows[0][12] is None:
        return View(pk=pk, key=key, shared=_plain(key, rows[0], now))
    one = _record(rows, now)
    views = ((team, record.view(one, team, now=now)) for team in one.teams)
    return View(
        pk=pk,
        key=key,
        shared=record.view(one, None, now=now),
        own={team: relation for team, relation in views if relation is not None},
    )


def _plain(key: Key, row: tuple[Any, ...], now: datetime) -> Relation | None:
    """Return a relation that one source alone speaks for, to all, and not from observation."""
    required, rejected, *described, said, confidence, fields = row[4:12]
    if said is None or rejected:
        return None
    if confidence is None or any(described):
        return record.view(_record([row], now), None, now=now)
    detail = {"fields": json.loads(fields)} if fields else NO_DETAIL
    return Relation(*key, confidence, required, _SOURCES[said], detail)


def _record(rows: Iterable[tuple[Any, ...]], now: datetime) -> Record:
    first, *_ = rows = list(rows)
    return Record(
        pk=first[0],
        source=first[1],
        target=first[2],
        kind=_KINDS[first[3]],
        required=first[4],
        rejected=first[5],
        reason=first[6] or "",
        version=first[7] or "",
        deprecated_at=first[8],
        said=tuple(_said(row[9:], now) for row in rows if row[9] is not None),
    )


def _said(row: tuple[Any, ...], now: datetime) -> Said:
    source, confidence, fields, team, successes, failures, seconds, seen_s = row
    return Said(
        source=_SOURCES[source][0],
        team=team,
        confidence=confidence,
        successes=successes or 0.0,
        failures=failures or 0.0,
        seconds=seconds,
        fields=tuple(json.loads(fields)) if fields else (),
        last_seen=now if seen_s is None else datetime.fromtimestamp(seen_s, tz=now.tzinfo),
    )
