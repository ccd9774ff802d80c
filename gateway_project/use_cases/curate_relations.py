"""Curate relations between tools by hand; every change is audited."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction

from gateway_project.access import audit
from gateway_project.foundation.caller import Caller
from graph.record import RelationClaim, RelationRecord
from graph.store import names, relations


def curate_relation(
    caller: Caller, claim: RelationClaim, *, at: datetime, changed: Sequence[str] | None = None
) -> int:
    """Store curated evidence that a relation holds; return its primary key.

    Args:
        caller: The curator.
        claim: The relation; without a confidence it is certain.
        at: Current time.
        changed: Changed fields of an existing relation; None: it is new.

    Raises:
        SelfRelationError: If source and target are the same tool.
        ToolsNotFound: If a tool does not exist.
    """
    action = "relation.registered" if changed is None else "relation.changed"
    with transaction.atomic():
        pk = relations.curate_relation(claim, by=caller.user, at=at)
        _record_audit(
            caller, action, relations.load([pk]), detail={"changed": sorted(changed or ())}
        )
    return pk


def reject_relations(caller: Caller, pks: Collection[int], *, at: datetime) -> int:
    """Reject relations by a person's decision; return how many were not rejected before."""
    with transaction.atomic():
        found = [record for record in relations.lock_relations(pks) if not record.rejected]
        for record in found:
            relations.reject_relation(*record.key, reason=record.reason, at=at)
        _record_audit(caller, "relation.rejected", found)
    return len(found)


def restore_relations(caller: Caller, pks: Collection[int]) -> int:
    """Withdraw the rejection of relations; return how many were rejected.

    A relation without other evidence is deleted.
    """
    with transaction.atomic():
        found = [record for record in relations.lock_relations(pks) if record.rejected]
        for record in found:
            relations.withdraw_curation(*record.key)
        _record_audit(caller, "relation.restored", found)
    return len(found)


def withdraw_relations(caller: Caller, pks: Collection[int]) -> int:
    """Withdraw what people have curated or rejected; return how many relations changed.

    A relation without other evidence is deleted.
    """
    with transaction.atomic():
        found = relations.lock_relations(pks)
        changed = [record for record in found if relations.withdraw_curation(*record.key)]
        _record_audit(caller, "relation.withdrawn", changed)
    return len(changed)


def _record_audit(
    caller: Caller,
    action: str,
    found: Sequence[RelationRecord],
    *,
    detail: dict[str, list[str]] | None = None,
) -> None:
    tool_ids = names.load_relation_ids(found)
    for record in found:
        kind = record.kind.value.replace("_", " ")
        subject = f"{tool_ids[record.source]} {kind} {tool_ids[record.target]}"
        audit.record_audit(caller, action, subject, detail=detail)
