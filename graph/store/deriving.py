"""Makes what one source says of relations exactly what it says now."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from graph import record
from graph.record import Claim, Record, Said
from graph.relations import Key, Kind, Source
from graph.store import writing
from tools.definition import storable

_SAID_BY = """
SELECT stored.id, stored.source_id, stored.target_id, stored.kind, stored.rejected,
       stored.required, stored.reason, stored.version, stored.deprecated_at,
       known.confidence, known.fields::text,
       EXISTS (SELECT FROM graph_relationevidence AS other
               WHERE other.relation_id = stored.id AND other.id <> known.id
                 AND other.source <> 'observed' AND other.team_id IS NULL)
FROM graph_relationevidence AS known
JOIN graph_tooldependency AS stored ON stored.id = known.relation_id
WHERE known.source = %(source)s AND known.origin = %(origin)s
  AND known.team_id IS NOT DISTINCT FROM %(team)s
"""

_UNSAY = """
DELETE FROM graph_relationevidence
WHERE source = %(source)s AND origin = %(origin)s AND team_id IS NOT DISTINCT FROM %(team)s
  AND relation_id = ANY(%(pks)s)
"""

_TEAMS = """
SELECT id FROM tools_team
WHERE id = ANY(%(wanted)s)
   OR id IN (SELECT team_id FROM graph_relationevidence WHERE source = %(source)s)
ORDER BY id
"""

_LOCK = "SELECT FROM graph_tooldependency WHERE id = ANY(%s) ORDER BY id FOR UPDATE"
_BESIDES_OTHERS: Final = {"settles": False}


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What a source says of a relation so far.

    Attributes:
        pk: The relation's primary key.
        rejected: Whether a person said that it does not hold.
        claim: What is said.
        is_shared: Whether somebody else tells everybody something of it too, runs aside.
    """

    pk: int
    rejected: bool
    claim: Claim
    is_shared: bool


@dataclass(frozen=True, kw_only=True)
class Derived:
    """All that one source and origin say, replaced by what they say now.

    Attributes:
        source: Where it comes from.
        origin: Told apart from others of that source.
        at: When.
        team: Primary key of the team that it is said to; None: everybody.
    """

    source: Source
    origin: str
    at: datetime
    team: int | None = None

    def replace(self, wanted: Mapping[Key, Claim]) -> tuple[int, int, int, int]:
        """Write the difference; return relations added, changed, removed and skipped."""
        with transaction.atomic():
            known = self._known()
            changed = self._change(wanted, known)
            removed = self._remove([known[key].pk for key in known.keys() - wanted.keys()])
            fresh = {key: wanted[key] for key in wanted.keys() - known.keys()}
            missing = writing.missing_tools(fresh)
            rows = [
                self._record(key, fresh[key])
                for key in sorted(fresh)
                if not missing.intersection(key[:2])
            ]
            added = writing.returned(writing.INSERT, map(writing.relation, rows), at=self.at)
            said = writing.returned(writing.FIRST_WORD, writing.evidence(rows), rejected_too=False)
        return len(added), changed + len(said - added), removed, len(fresh) - len(said)

    def _known(self) -> dict[Key, _Known]:
        with connection.cursor() as cursor:
            cursor.execute(_SAID_BY, self._who())
            return {known.claim.key: known for known in map(_known, cursor)}

    def _change(self, wanted: Mapping[Key, Claim], known: Mapping[Key, _Known]) -> int:
        """Write what is said otherwise now; what others say of the relation too stays theirs."""
        rows = [
            self._record(key, claim)
            for key, claim in wanted.items()
            if (stored := known.get(key)) is not None
            and not stored.rejected
            and not _same(claim, stored)
        ]
        own = [row for row in rows if not known[row.key].is_shared]
        self._lock([known[row.key].pk for row in rows])
        # A person may have said something since all was read: their word stands.
        changed = writing.returned(
            writing.OVERWRITE,
            (writing.relation(row) | _BESIDES_OTHERS for row in own),
            may_hold=False,
            origin=self.origin if self.source is Source.CURATED else None,
        )
        changed |= writing.returned(writing.SET_OWN, writing.evidence(rows), rejected_too=False)
        return len(changed)

    def _lock(self, pks: Sequence[int]) -> None:
        """Keep others from saying anything of some relations until all is written."""
        if pks:
            with connection.cursor() as cursor:
                cursor.execute(_LOCK, [list(pks)])

    def _remove(self, pks: Sequence[int]) -> int:
        if not pks:
            return 0
        with connection.cursor() as cursor:
            cursor.execute(_UNSAY, {**self._who(), "pks": list(pks)})
        return writing.sweep(pks)

    def _record(self, key: Key, claim: Claim) -> Record:
        said = Said(
            source=self.source,
            team=self.team,
            origin=self.origin,
            confidence=claim.confidence,
            successes=0.0,
            failures=0.0,
            fields=claim.fields,
            last_seen=self.at,
        )
        return record.stated(replace(claim, source=key[0], target=key[1]), said)

    def _who(self) -> dict[str, Any]:
        return {"source": self.source.value, "origin": self.origin, "team": self.team}


def teams(source: Source, wanted: Collection[int]) -> list[int]:
    """Return the teams that a source tells something of their own, and of some those there are."""
    with connection.cursor() as cursor:
        cursor.execute(_TEAMS, {"source": source.value, "wanted": list(wanted)})
        return [pk for (pk,) in cursor.fetchall()]


def _known(row: Sequence[Any]) -> _Known:
    pk, source, target, kind, rejected, required, reason, version, deprecated_at = row[:9]
    confidence, fields, is_shared = row[9:]
    claim = Claim(
        source=source,
        target=target,
        kind=Kind(kind),
        confidence=confidence,
        required=required,
        reason=reason,
        version=version,
        deprecated_at=deprecated_at,
        fields=tuple(json.loads(fields)) if fields != "[]" else (),
    )
    return _Known(pk=pk, rejected=rejected, claim=claim, is_shared=is_shared)


def _same(claim: Claim, stored: _Known) -> bool:
    """Say whether a claim says what is stored, as far as it is its own to say."""
    known = stored.claim
    if (claim.confidence, claim.fields) != (known.confidence, known.fields):
        return False
    return stored.is_shared or (
        claim.required == known.required
        and storable(claim.reason) == known.reason
        and storable(claim.version) == known.version
        and claim.deprecated_at == known.deprecated_at
    )
