"""Stored relations: reading them, and writing the evidence of people, schemas, files and runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from graph import record
from graph.models import RelationEvidence, ToolDependency
from graph.record import RelationClaim, RelationObservation, RelationRecord
from graph.relations import SHIPPED, Evidence, EvidenceSource, RelationKey, RelationKind
from graph.store import deriving, state, views, writing
from graph.topology import Topology

_ATTRIBUTES = (
    *("pk", "source", "target", "kind", "required", "rejected", "reason", "version"),
    "deprecated_at",
)
_EVIDENCE = (
    *("source", "team", "origin", "confidence", "successes", "failures", "seconds", "fields"),
    "last_seen",
)
_COLUMNS = (
    *("pk", "source_id", "target_id", "kind", "required", "rejected", "reason", "version"),
    *("deprecated_at", "evidence__source", "evidence__team_id", "evidence__origin"),
    *("evidence__confidence", "evidence__successes", "evidence__failures", "evidence__seconds"),
    *("evidence__fields", "evidence__last_seen_at"),
)
"""Those of `_ATTRIBUTES`, then those of `_EVIDENCE`."""
_CHUNK_ROWS = 2_000


class ToolsNotFound(LookupError):
    """A relation names tools that do not exist."""

    def __init__(self, tools: Collection[int]) -> None:
        self.tools = tuple(sorted(tools))
        shown = ", ".join(map(str, self.tools[:5]))
        super().__init__(f"no tool has the key {shown}; it was deleted, or never stored")


class RelationChanges(NamedTuple):
    """What a write changed.

    Attributes:
        changed: Relations whose attributes or evidence changed.
        removed: Relations deleted for lack of evidence.
        skipped: Relations left alone: rejected by a person, or of a deleted tool.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    skipped: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def __add__(self, other: RelationChanges) -> RelationChanges:  # type: ignore[override]
        """Add up the changes of two writes."""
        return RelationChanges(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def load(pks: Collection[int] | None = None) -> list[RelationRecord]:
    """Return relations with the evidence of all teams, including rejected ones; one query.

    Args:
        pks: Primary keys; None: all. Deleted ones are left out.
    """
    rows = ToolDependency.objects.order_by("pk")
    if pks is not None:
        rows = rows.filter(pk__in=list(pks))
    return _read_records(rows)


def load_curated() -> list[RelationRecord]:
    """Return the relations that a person has curated or rejected, with all their evidence.

    Shipped ones, which count as curated too, are left out.
    """
    curated = RelationEvidence.objects.filter(
        relation=OuterRef("pk"), source=EvidenceSource.CURATED.value
    ).exclude(origin=SHIPPED)
    return _read_records(
        ToolDependency.objects.filter(Q(rejected=True) | Exists(curated)).order_by("pk")
    )


def load_rejected(*, most: int) -> list[RelationRecord]:
    """Return the relations that people rejected, latest stored first."""
    newest = ToolDependency.objects.filter(rejected=True).order_by("-pk")
    pks = list(newest.values_list("pk", flat=True)[:most])
    return _read_records(ToolDependency.objects.filter(pk__in=pks).order_by("-pk"))


def lock_relations(pks: Collection[int]) -> list[RelationRecord]:
    """Return relations like `load`, locked until the transaction ends."""
    return _read_records(_lock_rows(ToolDependency.objects.filter(pk__in=list(pks))))


def find_relation(source: int, target: int, kind: RelationKind) -> RelationRecord | None:
    """Return one relation; symmetric kinds match in either direction.

    Raises:
        SelfRelationError: If source and target are the same.
    """
    rows = _filter_by_key(record.storage_key(source, target, kind))
    return next(iter(_read_records(rows.order_by("pk"))), None)


def load_topology(team: int | None = None, *, now: datetime | None = None) -> Topology:
    """Return the relations that the callers of a team see.

    Args:
        team: Sees shared evidence and its own; None: only shared evidence.
        now: Time that the age of observations is measured at; None: the current time.
    """
    at = datetime.now(UTC) if now is None else now
    relations = (view.seen_by(team) for view in views.load_views(now=at))
    return Topology(relation for relation in relations if relation is not None)


def curate_relation(claim: RelationClaim, *, by: str, at: datetime) -> int:
    """Store a person's curation that a relation holds; return its primary key.

    It lifts a rejection and replaces the relation's attributes, but not other evidence. A claim
    without a confidence counts as 1.

    Raises:
        SelfRelationError: If source and target are the same.
        ToolsNotFound: If a tool does not exist.
    """
    evidence = Evidence(
        source=EvidenceSource.CURATED,
        origin=by,
        confidence=1.0 if claim.confidence is None else claim.confidence,
        successes=0.0,
        failures=0.0,
        fields=claim.fields,
        last_seen=at,
    )
    return _put_relation(record.relation_from_claim(claim, evidence), at=at, lift_rejections=True)


def reject_relation(
    source: int, target: int, kind: RelationKind, *, reason: str = "", at: datetime
) -> int:
    """Store a person's rejection of a relation; return its primary key.

    Earlier curation is deleted. Other evidence and attributes are kept, without effect, so that
    they apply again if the rejection is withdrawn.

    Args:
        source: Primary key of the source tool.
        target: Primary key of the target tool.
        kind: How they relate.
        reason: Why; empty: keep the stored reason.
        at: Time of the rejection.

    Raises:
        SelfRelationError: If source and target are the same.
        ToolsNotFound: If a tool does not exist.
    """
    with transaction.atomic():
        new = RelationRecord(source=source, target=target, kind=kind)
        key = record.storage_key(*new.key)
        stored = next(iter(_read_records(_lock_rows(_filter_by_key(key)))), new)
        rejected = replace(stored, rejected=True, reason=reason or stored.reason, evidence=())
        pk = _put_relation(rejected, at=at, lift_rejections=False)
        RelationEvidence.objects.filter(relation=pk, source=EvidenceSource.CURATED.value).delete()
    return pk


def withdraw_curation(source: int, target: int, kind: RelationKind) -> bool:
    """Withdraw a person's curation or rejection of a relation; return whether there was any.

    The relation is deleted if no evidence remains.

    Raises:
        SelfRelationError: If source and target are the same.
    """
    source, target, kind = record.storage_key(source, target, kind)
    with transaction.atomic():
        row = (
            ToolDependency.objects.select_for_update()
            .filter(source_id=source, target_id=target, kind=kind.value)
            .first()
        )
        if row is None:
            return False
        deleted, _ = row.evidence.filter(source=EvidenceSource.CURATED.value).delete()
        was_rejected = row.rejected
        if was_rejected:
            row.rejected = False
            row.save(update_fields=["rejected"])
        writing.delete_unsupported([row.pk])
        state.invalidate_derived()  # it may have blocked derived or shipped claims
    return bool(deleted) or was_rejected


def observe_relations(
    team: int | None, observations: Iterable[RelationObservation], *, td_rate: float = 0.0
) -> RelationChanges:
    """Add observations of a team to its counts; one transaction.

    Counts are stored as of the last observation: older counts are decayed to that time, and late
    observations are added at their age. Safe with concurrent writers. Observations of deleted
    tools or teams are skipped.

    Raises:
        SelfRelationError: If one relates a tool to itself; nothing is stored then.
        ValueError: If a count is negative or not finite.
    """
    merged = record.merge_observations(observations)
    added, stored = (
        writing.retry_on_conflict(lambda: writing.add_observations(team, merged, td_rate=td_rate))
        if merged
        else (0, 0)
    )
    return RelationChanges(added=added, changed=stored - added, skipped=len(merged) - stored)


def replace_derived(
    claims: Iterable[RelationClaim],
    *,
    at: datetime,
    source: EvidenceSource = EvidenceSource.SCHEMA,
    origin: str = "",
    team: int | None = None,
) -> RelationChanges:
    """Replace the claims of one source by these; one transaction that writes only differences.

    Relations that it no longer claims are deleted, unless they have other evidence. Rejected
    relations and claims of the same source with another origin are left alone.

    Args:
        claims: All current claims; of two on one relation the more confident wins.
        at: Time of the claims.
        source: Source of the claims.
        origin: Distinguishes claims of the same source.
        team: Primary key of the team that the claims belong to; None: shared claims.

    Raises:
        SelfRelationError: If one relates a tool to itself; nothing is stored then.
    """
    wanted: dict[RelationKey, RelationClaim] = {}
    for claim in claims:
        key = record.storage_key(*claim.key)
        if key not in wanted or (wanted[key].confidence or 0.0) < (claim.confidence or 0.0):
            wanted[key] = claim
    derived = deriving.DerivedEvidence(source=source, origin=origin, at=at, team=team)
    return RelationChanges(*writing.retry_on_conflict(lambda: derived.replace_claims(wanted)))


def replace_derived_of_teams(
    claims: Mapping[int, Iterable[RelationClaim]], *, at: datetime
) -> RelationChanges:
    """Replace the claims derived for single teams by these.

    They rest on results that a team saw; claims derived for all teams are not touched. One
    transaction that writes only differences.

    Args:
        claims: All current claims, by team; those of deleted teams are skipped.
        at: Time of the claims.

    Raises:
        SelfRelationError: If one relates a tool to itself; nothing is stored then.
    """

    def replace_all() -> RelationChanges:
        with transaction.atomic():
            teams = deriving.load_teams(EvidenceSource.SCHEMA, claims.keys())
            changes = (replace_derived(claims.get(team, ()), at=at, team=team) for team in teams)
            return sum(changes, RelationChanges())

    return writing.retry_on_conflict(replace_all)


def put_many(
    records: Sequence[RelationRecord], *, at: datetime, lift_rejections: bool = False
) -> RelationChanges:
    """Store relations, all or none; one transaction, idempotent.

    Attributes are replaced, and so is evidence with the same source and team; other evidence
    stays. The attributes of a curated relation change only with curated evidence, and a rejected
    relation stays rejected.

    Raises:
        SelfRelationError: If one relates a tool to itself.
        ToolsNotFound: If a tool does not exist.
        ValueError: If a relation is given twice.
    """
    wanted = _index_by_key(records)

    def put() -> tuple[int, int]:
        with transaction.atomic():
            missing = writing.find_missing_tools(wanted)
            if missing:
                raise ToolsNotFound(missing)
            return writing.put_relations(wanted, at=at, lift_rejections=lift_rejections)

    return RelationChanges(*writing.retry_on_conflict(put))


def has_relations() -> bool:
    """Return whether there is any relation, rejected ones included."""
    return ToolDependency.objects.exists()


def delete_unsupported() -> int:
    """Delete the relations without evidence that are not rejected; return how many."""
    return writing.delete_unsupported(None)


def _filter_by_key(key: RelationKey) -> QuerySet[ToolDependency]:
    source, target, kind = key
    return ToolDependency.objects.filter(source_id=source, target_id=target, kind=kind.value)


def _lock_rows(rows: QuerySet[ToolDependency]) -> QuerySet[ToolDependency]:
    """Lock relations; return a query that reads their current state."""
    pks = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
    return ToolDependency.objects.filter(pk__in=pks).order_by("pk")


def _put_relation(wanted: RelationRecord, *, at: datetime, lift_rejections: bool) -> int:
    source, target, kind = record.storage_key(*wanted.key)
    with transaction.atomic():
        put_many([wanted], at=at, lift_rejections=lift_rejections)
        return ToolDependency.objects.values_list("pk", flat=True).get(
            source_id=source, target_id=target, kind=kind.value
        )


def _index_by_key(records: Sequence[RelationRecord]) -> dict[RelationKey, RelationRecord]:
    by_key: dict[RelationKey, RelationRecord] = {}
    for item in records:
        key = record.storage_key(*item.key)
        if key in by_key:
            source, target, kind = key
            raise ValueError(f"the relation {source} {kind.value} {target} is given twice")
        by_key[key] = item
    return by_key


def _read_records(rows: Any) -> list[RelationRecord]:
    columns = rows.values_list(*_COLUMNS).iterator(chunk_size=_CHUNK_ROWS)
    return [_read_record(tuple(group)) for _, group in groupby(columns, key=itemgetter(0))]


def _read_record(rows: Sequence[tuple[Any, ...]]) -> RelationRecord:
    split = len(_ATTRIBUTES)
    values = dict(zip(_ATTRIBUTES, rows[0][:split], strict=True))
    evidence = tuple(_read_evidence(row[split:]) for row in rows if row[split] is not None)
    return RelationRecord(**values | {"kind": RelationKind(values["kind"]), "evidence": evidence})


def _read_evidence(row: Sequence[Any]) -> Evidence:
    values = dict(zip(_EVIDENCE, row, strict=True))
    source, fields = EvidenceSource(values["source"]), tuple(values["fields"])
    return Evidence(**values | {"source": source, "fields": fields})
