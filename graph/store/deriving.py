"""Replaces the stored claims of one source by its current ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from graph import record
from graph.record import RelationClaim, RelationRecord
from graph.relations import Evidence, EvidenceSource, RelationKey, RelationKind
from graph.store import writing
from tools.definition import make_storable

_SELECT_CLAIMS = """
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

_DELETE_EVIDENCE = """
DELETE FROM graph_relationevidence
WHERE source = %(source)s AND origin = %(origin)s AND team_id IS NOT DISTINCT FROM %(team)s
  AND relation_id = ANY(%(pks)s)
"""

_SELECT_TEAMS = """
SELECT id FROM tools_team
WHERE id = ANY(%(wanted)s)
   OR id IN (SELECT team_id FROM graph_relationevidence WHERE source = %(source)s)
ORDER BY id
"""

_LOCK_RELATIONS = "SELECT FROM graph_tooldependency WHERE id = ANY(%s) ORDER BY id FOR UPDATE"
_SECONDARY_EVIDENCE: Final = {"settles": False}


@dataclass(frozen=True, kw_only=True)
class _StoredClaim:
    """A claim of a source as stored.

    Attributes:
        rejected: Whether a person rejected the relation.
        is_shared: Whether the relation has other shared evidence, observations aside.
    """

    pk: int
    rejected: bool
    claim: RelationClaim
    is_shared: bool


@dataclass(frozen=True, kw_only=True)
class DerivedEvidence:
    """The claims of one source and origin, to be replaced by current ones.

    Attributes:
        team: Primary key of the team that the claims belong to; None: shared claims.
    """

    source: EvidenceSource
    origin: str
    at: datetime
    team: int | None = None

    def replace_claims(
        self, wanted: Mapping[RelationKey, RelationClaim]
    ) -> tuple[int, int, int, int]:
        """Write the difference; return relations added, changed, removed and skipped."""
        with transaction.atomic():
            stored = self._load_stored_claims()
            changed = self._update_changed(wanted, stored)
            removed = self._remove_evidence(
                [stored[key].pk for key in stored.keys() - wanted.keys()]
            )
            new = {key: wanted[key] for key in wanted.keys() - stored.keys()}
            missing = writing.find_missing_tools(new)
            rows = [
                self._to_record(key, new[key])
                for key in sorted(new)
                if not missing.intersection(key[:2])
            ]
            added = writing.execute_returning(
                writing.INSERT_RELATIONS, map(writing.relation_row, rows), at=self.at
            )
            claimed = writing.execute_returning(
                writing.INSERT_NEW_EVIDENCE, writing.evidence_rows(rows), rejected_too=False
            )
        return len(added), changed + len(claimed - added), removed, len(new) - len(claimed)

    def _load_stored_claims(self) -> dict[RelationKey, _StoredClaim]:
        with connection.cursor() as cursor:
            cursor.execute(_SELECT_CLAIMS, self._source_parameters())
            return {stored.claim.key: stored for stored in map(_read_claim_row, cursor)}

    def _update_changed(
        self,
        wanted: Mapping[RelationKey, RelationClaim],
        stored_claims: Mapping[RelationKey, _StoredClaim],
    ) -> int:
        """Write changed claims; attributes of relations with other evidence are left alone."""
        rows = [
            self._to_record(key, claim)
            for key, claim in wanted.items()
            if (stored := stored_claims.get(key)) is not None
            and not stored.rejected
            and not _is_same_claim(claim, stored)
        ]
        own = [row for row in rows if not stored_claims[row.key].is_shared]
        self._lock_relations([stored_claims[row.key].pk for row in rows])
        # A person may have curated a relation since it was read: that takes precedence.
        changed = writing.execute_returning(
            writing.OVERWRITE_RELATIONS,
            (writing.relation_row(row) | _SECONDARY_EVIDENCE for row in own),
            lift_rejections=False,
            origin=self.origin if self.source is EvidenceSource.CURATED else None,
        )
        changed |= writing.execute_returning(
            writing.SET_OWN_EVIDENCE, writing.evidence_rows(rows), rejected_too=False
        )
        return len(changed)

    def _lock_relations(self, pks: Sequence[int]) -> None:
        if pks:
            with connection.cursor() as cursor:
                cursor.execute(_LOCK_RELATIONS, [list(pks)])

    def _remove_evidence(self, pks: Sequence[int]) -> int:
        if not pks:
            return 0
        with connection.cursor() as cursor:
            cursor.execute(_DELETE_EVIDENCE, {**self._source_parameters(), "pks": list(pks)})
        return writing.delete_unsupported(pks)

    def _to_record(self, key: RelationKey, claim: RelationClaim) -> RelationRecord:
        evidence = Evidence(
            source=self.source,
            team=self.team,
            origin=self.origin,
            confidence=claim.confidence,
            successes=0.0,
            failures=0.0,
            fields=claim.fields,
            last_seen=self.at,
        )
        return record.relation_from_claim(replace(claim, source=key[0], target=key[1]), evidence)

    def _source_parameters(self) -> dict[str, Any]:
        return {"source": self.source.value, "origin": self.origin, "team": self.team}


def load_teams(source: EvidenceSource, wanted: Collection[int]) -> list[int]:
    """Return the teams with claims of a source, and those of `wanted` that exist."""
    with connection.cursor() as cursor:
        cursor.execute(_SELECT_TEAMS, {"source": source.value, "wanted": list(wanted)})
        return [pk for (pk,) in cursor.fetchall()]


def _read_claim_row(row: Sequence[Any]) -> _StoredClaim:
    pk, source, target, kind, rejected, required, reason, version, deprecated_at = row[:9]
    confidence, fields, is_shared = row[9:]
    claim = RelationClaim(
        source=source,
        target=target,
        kind=RelationKind(kind),
        confidence=confidence,
        required=required,
        reason=reason,
        version=version,
        deprecated_at=deprecated_at,
        fields=tuple(json.loads(fields)) if fields != "[]" else (),
    )
    return _StoredClaim(pk=pk, rejected=rejected, claim=claim, is_shared=is_shared)


def _is_same_claim(claim: RelationClaim, stored: _StoredClaim) -> bool:
    """Return whether a claim equals the stored one, in what the source may set."""
    known = stored.claim
    if (claim.confidence, claim.fields) != (known.confidence, known.fields):
        return False
    return stored.is_shared or (
        claim.required == known.required
        and make_storable(claim.reason) == known.reason
        and make_storable(claim.version) == known.version
        and claim.deprecated_at == known.deprecated_at
    )
