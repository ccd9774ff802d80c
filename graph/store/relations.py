"""The stored relations: what people, schemas, files and runs say of them, and reading them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from graph import record
from graph.models import RelationEvidence, ToolDependency
from graph.record import Claim, Observation, Record, Said
from graph.relations import Key, Kind, Source
from graph.store import deriving, state, views, writing
from graph.topology import Topology

_COLUMNS = (
    "pk",
    "source_id",
    "target_id",
    "kind",
    "required",
    "rejected",
    "reason",
    "version",
    "deprecated_at",
    "evidence__source",
    "evidence__team_id",
    "evidence__origin",
    "evidence__confidence",
    "evidence__successes",
    "evidence__failures",
    "evidence__seconds",
    "evidence__fields",
    "evidence__last_seen_at",
)
_CHUNK_ROWS = 2_000


class UnknownTools(LookupError):
    """Tools that a relation is to be between are not there.

    Attributes:
        tools: Their primary keys.
    """

    def __init__(self, tools: Collection[int]) -> None:
        self.tools = tuple(sorted(tools))
        shown = ", ".join(map(str, self.tools[:5]))
        super().__init__(f"no tool has the key {shown}; it was deleted, or never stored")


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What a write changed.

    Attributes:
        added: Relations that were not there.
        changed: Relations of which something is said otherwise now.
        removed: Relations that nothing speaks for any more.
        skipped: Left alone: rejected by a person, or of a tool that is gone.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    skipped: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def __add__(self, other: Changes) -> Changes:
        """Return what two writes changed together."""
        return Changes(
            added=self.added + other.added,
            changed=self.changed + other.changed,
            removed=self.removed + other.removed,
            skipped=self.skipped + other.skipped,
        )


def load(pks: Collection[int] | None = None) -> list[Record]:
    """Return relations with what every team says of them, rejected ones too; one query.

    Args:
        pks: Primary keys of those wanted; None: all. Such as are gone are left out.
    """
    rows = ToolDependency.objects.order_by("pk")
    if pks is not None:
        rows = rows.filter(pk__in=list(pks))
    return _records(rows)


def load_of(tool: int) -> list[Record]:
    """Return the relations from and to a tool, rejected ones too."""
    rows = ToolDependency.objects.order_by("pk")
    return _records(rows.filter(source_id=tool) | rows.filter(target_id=tool))


def locked(pks: Collection[int]) -> list[Record]:
    """Return relations as `load` does; nobody else changes them until the transaction ends."""
    return _records(_locked(ToolDependency.objects.filter(pk__in=list(pks))))


def find(source: int, target: int, kind: Kind) -> Record | None:
    """Return one relation; of symmetric kinds, whichever way it is asked for.

    Raises:
        SelfRelation: If the two are one.
    """
    rows = _of_key(record.ordered(source, target, kind))
    return next(iter(_records(rows.order_by("pk"))), None)


def topology(team: int | None = None, *, now: datetime | None = None) -> Topology:
    """Return the relations that the callers of a team see.

    Args:
        team: Sees what is everybody's and its own; None: only what is everybody's.
        now: Time that the age of observations is taken at; None: this moment.
    """
    at = datetime.now(UTC) if now is None else now
    seen = ((one.own.get(team) if team else None) or one.shared for one in views.load(now=at))
    return Topology(relation for relation in seen if relation is not None)


def curate(claim: Claim, *, by: str, at: datetime) -> int:
    """Store a person's word that a relation holds, and return its primary key.

    It takes back a rejection, and says all there is to say of the relation but its other
    evidence. Without a confidence it is sure.

    Args:
        claim: What they say.
        by: Who says it.
        at: When.

    Raises:
        SelfRelation: If both tools are one.
        UnknownTools: If a tool is not there.
    """
    said = Said(
        source=Source.CURATED,
        origin=by,
        confidence=1.0 if claim.confidence is None else claim.confidence,
        successes=0.0,
        failures=0.0,
        fields=claim.fields,
        last_seen=at,
    )
    return _put_one(record.stated(claim, said), at=at, may_hold=True)


def reject(source: int, target: int, kind: Kind, *, reason: str = "", at: datetime) -> int:
    """Store a person's word that a relation does not hold, and return its primary key.

    What else speaks for it is kept and no longer counts; a person's earlier word goes. The rest
    of what is stored of it stays, so that it is as it was if that is taken back.

    Args:
        source: Primary key of the tool it starts from.
        target: Primary key of the tool it leads to.
        kind: How they relate.
        reason: Why; empty: what is stored.
        at: When.

    Raises:
        SelfRelation: If both tools are one.
        UnknownTools: If a tool is not there.
    """
    with transaction.atomic():
        new = Record(source=source, target=target, kind=kind)
        ordered = record.ordered(*new.key)
        stored = next(iter(_records(_locked(_of_key(ordered)))), new)
        wanted = replace(stored, rejected=True, reason=reason or stored.reason, said=())
        pk = _put_one(wanted, at=at, may_hold=False)
        RelationEvidence.objects.filter(relation=pk, source=Source.CURATED.value).delete()
    return pk


def withdraw(source: int, target: int, kind: Kind) -> bool:
    """Take back a person's word on a relation, for or against; say whether there was any.

    The relation goes with it if nothing else speaks for it.

    Raises:
        SelfRelation: If both tools are one.
    """
    source, target, kind = record.ordered(source, target, kind)
    with transaction.atomic():
        row = (
            ToolDependency.objects.select_for_update()
            .filter(source_id=source, target_id=target, kind=kind.value)
            .first()
        )
        if row is None:
            return False
        gone, _ = row.evidence.filter(source=Source.CURATED.value).delete()
        was_rejected = row.rejected
        if was_rejected:
            row.rejected = False
            row.save(update_fields=["rejected"])
        writing.sweep([row.pk])
        state.forget_derived()  # it may have stood in the way of what is derived or shipped
    return bool(gone) or was_rejected


def observe(team: int | None, observations: Iterable[Observation]) -> Changes:
    """Add what a team has seen to what it saw before; one transaction.

    Counts are kept as of when the relation was seen last: what was counted earlier is worth less
    by then, and what comes late is added at its age. Writers of several processes may add at
    once; nothing is lost. Observations of tools or a team that are gone are left out.

    Args:
        team: Whose it is; None: everybody's.
        observations: In any order; several of one relation are added up.

    Raises:
        SelfRelation: If one is of a tool with itself; nothing is stored then.
        ValueError: If a count is negative or no number.
    """
    wanted = record.gathered(observations)
    added, seen = writing.retried(lambda: writing.observe(team, wanted)) if wanted else (0, 0)
    return Changes(added=added, changed=seen - added, skipped=len(wanted) - seen)


def replace_derived(
    claims: Iterable[Claim],
    *,
    at: datetime,
    source: Source = Source.SCHEMA,
    origin: str = "",
    team: int | None = None,
) -> Changes:
    """Make what one source says exactly these claims; one transaction, and only differences.

    Relations of which it says nothing any more go, unless something else speaks for them. What a
    person rejected is left alone, and so is what the same source says by another origin.

    Args:
        claims: All that it says now; of two on one relation the surer counts.
        at: When.
        source: Where it comes from.
        origin: Told apart from others of that source.
        team: Primary key of the team that it is said to; None: everybody.

    Raises:
        SelfRelation: If one is of a tool with itself; nothing is stored then.
    """
    wanted: dict[Key, Claim] = {}
    for claim in claims:
        key = record.ordered(*claim.key)
        if key not in wanted or (wanted[key].confidence or 0.0) < (claim.confidence or 0.0):
            wanted[key] = claim
    derived = deriving.Derived(source=source, origin=origin, at=at, team=team)
    added, changed, removed, skipped = writing.retried(lambda: derived.replace(wanted))
    return Changes(added=added, changed=changed, removed=removed, skipped=skipped)


def replace_derived_of_teams(claims: Mapping[int, Iterable[Claim]], *, at: datetime) -> Changes:
    """Make what is derived for the callers of single teams exactly these claims.

    It is what results that a team saw speak for; what is derived for all is not touched. One
    transaction, and only differences.

    Args:
        claims: All of them, by team; those of a team that is gone are left out.
        at: When.

    Raises:
        SelfRelation: If one is of a tool with itself; nothing is stored then.
    """

    def replace_all() -> Changes:
        with transaction.atomic():
            there = deriving.teams(Source.SCHEMA, claims.keys())
            done = (replace_derived(claims.get(team, ()), at=at, team=team) for team in there)
            return sum(done, Changes())

    return writing.retried(replace_all)


def put_many(records: Sequence[Record], *, at: datetime, may_hold: bool = False) -> Changes:
    """Store relations as they are given, all or none; one transaction.

    What is stored of them is replaced, and of their evidence what is given by source and team;
    other evidence stays. What a person curated is described anew only by curated evidence, and
    what a person rejected stays rejected. Repeating it changes nothing.

    Args:
        records: With their evidence; primary keys are ignored.
        at: When.
        may_hold: Whether this takes back rejections.

    Raises:
        SelfRelation: If one is of a tool with itself.
        UnknownTools: If a tool is not there.
        ValueError: If a relation is given twice.
    """
    wanted = _by_key(records)

    def put() -> tuple[int, int]:
        with transaction.atomic():
            missing = writing.missing_tools(wanted)
            if missing:
                raise UnknownTools(missing)
            return writing.put(wanted, at=at, may_hold=may_hold)

    added, changed = writing.retried(put)
    return Changes(added=added, changed=changed)


def exist() -> bool:
    """Say whether there is any relation, rejected ones included."""
    return ToolDependency.objects.exists()


def sweep() -> int:
    """Delete every relation that nothing speaks for and nobody rejected; return how many."""
    return writing.sweep(None)


def _of_key(key: Key) -> QuerySet[ToolDependency]:
    source, target, kind = key
    return ToolDependency.objects.filter(source_id=source, target_id=target, kind=kind.value)


def _locked(rows: QuerySet[ToolDependency]) -> QuerySet[ToolDependency]:
    """Lock relations; return them to be read, as they are now."""
    pks = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
    return ToolDependency.objects.filter(pk__in=pks).order_by("pk")


def _put_one(wanted: Record, *, at: datetime, may_hold: bool) -> int:
    source, target, kind = record.ordered(*wanted.key)
    with transaction.atomic():
        put_many([wanted], at=at, may_hold=may_hold)
        return ToolDependency.objects.values_list("pk", flat=True).get(
            source_id=source, target_id=target, kind=kind.value
        )


def _by_key(records: Sequence[Record]) -> dict[Key, Record]:
    found: dict[Key, Record] = {}
    for one in records:
        key = record.ordered(*one.key)
        if key in found:
            source, target, kind = key
            raise ValueError(f"the relation {source} {kind.value} {target} is given twice")
        found[key] = one
    return found


def _records(rows: Any) -> list[Record]:
    """Read relations, each with its evidence; rows are in the order of their primary keys."""
    read = rows.values_list(*_COLUMNS).iterator(chunk_size=_CHUNK_ROWS)
    return [_record(tuple(every)) for _, every in groupby(read, key=itemgetter(0))]


def _record(rows: Sequence[tuple[Any, ...]]) -> Record:
    pk, source, target, kind, required, rejected, reason, version, deprecated_at = rows[0][:9]
    return Record(
        pk=pk,
        source=source,
        target=target,
        kind=Kind(kind),
        required=required,
        rejected=rejected,
        reason=reason,
        version=version,
        deprecated_at=deprecated_at,
        said=tuple(_said(row[9:]) for row in rows if row[9] is not None),
    )


def _said(row: Sequence[Any]) -> Said:
    source, team, origin, sure, successes, failures, seconds, fields, last_seen = row
    return Said(
        source=Source(source),
        team=team,
        origin=origin,
        confidence=sure,
        successes=successes,
        failures=failures,
        seconds=seconds,
        fields=tuple(fields),
        last_seen=last_seen,
    )
