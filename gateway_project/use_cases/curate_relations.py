"""What people say of relations between tools; every change is written down."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from graph.record import Claim, Record, Said
from graph.relations import Source
from graph.store import names, relations


def curate(
    caller: Caller, claim: Claim, *, at: datetime, changed: Sequence[str] | None = None
) -> int:
    """Store a person's word that a relation holds, and return its primary key.

    Args:
        caller: Who says it.
        claim: What they say; without a confidence they are sure.
        at: When.
        changed: Fields of a relation that was there before; None: it is new.

    Raises:
        SelfRelation: If both tools are one.
        UnknownTools: If a tool is not there.
    """
    action = "relation.registered" if changed is None else "relation.changed"
    with transaction.atomic():
        pk = relations.curate(claim, by=caller.user, at=at)
        _record(caller, action, relations.load([pk]), detail={"changed": sorted(changed or ())})
    return pk


def confirm(caller: Caller, pks: Collection[int], *, at: datetime) -> int:
    """Make relations a person's own word, whatever else speaks for them; return how many.

    Such as are rejected, or confirmed already, are left alone.
    """
    with transaction.atomic():
        found = [
            record
            for record in relations.locked(pks)
            if not record.rejected and not record.by_a_person
        ]
        said = Said(
            source=Source.CURATED,
            origin=caller.user,
            confidence=1.0,
            last_seen=at,
        )
        relations.put_many([replace(record, said=(said,)) for record in found], at=at)
        _record(caller, "relation.confirmed", found)
    return len(found)


def reject(caller: Caller, pks: Collection[int], *, at: datetime) -> int:
    """Store a person's word that relations do not hold; return how many held before."""
    with transaction.atomic():
        found = [record for record in relations.locked(pks) if not record.rejected]
        for record in found:
            relations.reject(*record.key, reason=record.reason, at=at)
        _record(caller, "relation.rejected", found)
    return len(found)


def restore(caller: Caller, pks: Collection[int]) -> int:
    """Take back that relations were rejected; return how many were.

    One that nothing else speaks for is gone then.
    """
    with transaction.atomic():
        found = [record for record in relations.locked(pks) if record.rejected]
        for record in found:
            relations.withdraw(*record.key)
        _record(caller, "relation.restored", found)
    return len(found)


def _record(
    caller: Caller,
    action: str,
    found: Sequence[Record],
    *,
    detail: dict[str, list[str]] | None = None,
) -> None:
    called = names.of(found)
    for record in found:
        kind = record.kind.value.replace("_", " ")
        subject = f"{called[record.source]} {kind} {called[record.target]}"
        audit.record(caller, action, subject, detail=detail)
