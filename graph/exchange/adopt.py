"""Decide how much of a relation in a file is adopted, and how it changes the stored one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from graph.exchange.document import StatedEvidence, StatedRelation
from graph.record import RelationRecord
from graph.relations import Evidence, EvidenceSource

FULL_CONFIDENCE: Final = 1.0
"""Confidence of a relation that a file states without evidence or confidence."""
ORIGIN_SOURCES: Final = frozenset({EvidenceSource.CURATED, EvidenceSource.IMPORTED})
"""Sources whose evidence has an origin; by default the file."""


class OmissionReason(StrEnum):
    """Why a relation of a file is left out."""

    OBSERVED = "observed"
    REJECTION = "rejection"
    REJECTED_HERE = "rejected here"


@dataclass(frozen=True, kw_only=True)
class ImportPolicy:
    """How far a file is trusted.

    Attributes:
        trust_as_curated: Whether an admin vouches for it: evidence keeps its curated or schema
            source, relations stated without evidence count as curated, and rejections apply.
        team: Primary key of the team that adopts evidence of the file's team and observed
            evidence; None: both are left out.
    """

    origin: str
    trust_as_curated: bool
    team: int | None
    now: datetime


def adopt_relation(
    stated: StatedRelation,
    *,
    source: int,
    target: int,
    policy: ImportPolicy,
    stored: RelationRecord | None,
) -> RelationRecord | OmissionReason:
    """Convert a relation of a file into one to store.

    Returns:
        The relation with its new evidence, which may be empty; or why it is left out.
    """
    if stated.rejected and not policy.trust_as_curated:
        return OmissionReason.REJECTION
    if stored is not None and stored.rejected and not stated.rejected:
        return OmissionReason.REJECTED_HERE
    evidence = [item for item in stated.evidence if _is_importable(item, policy)]
    if stated.evidence and not evidence and not stated.rejected:
        return OmissionReason.OBSERVED
    stored_evidence = (
        {(item.source, item.team): item for item in stored.evidence} if stored else {}
    )
    adopted = (
        _convert_all_evidence(evidence, policy)
        if policy.trust_as_curated
        else _convert_imported_evidence(evidence, policy, stored_evidence)
    )
    if not stated.evidence and not stated.rejected:
        adopted = [_evidence_without_details(stated, policy)]
    return RelationRecord(
        source=source,
        target=target,
        kind=stated.kind,
        required=stated.required,
        rejected=stated.rejected,
        reason=stated.reason,
        version=stated.version,
        deprecated_at=stated.deprecated_at,
        evidence=tuple(adopted),
    )


def merge_relation(stored: RelationRecord, new: RelationRecord) -> RelationRecord:
    """Merge new attributes and evidence into a stored relation.

    Attributes are replaced, unless the stored ones are curated and the new ones are neither
    curated nor a rejection. Evidence replaces that of the same source and team.
    """
    evidence = {(item.source, item.team): item for item in stored.evidence}
    for item in new.evidence:
        before = evidence.get((item.source, item.team))
        if before is None or not _is_same_evidence(before, item):
            evidence[item.source, item.team] = item
    merged = replace(
        stored, evidence=tuple(evidence.values()), rejected=stored.rejected or new.rejected
    )
    if not new.evidence and not new.rejected:
        return merged
    if _is_curated(stored) and not (_is_curated(new) or new.rejected):
        return merged
    return replace(
        merged,
        required=new.required,
        reason=new.reason,
        version=new.version,
        deprecated_at=new.deprecated_at,
    )


def _is_importable(item: StatedEvidence, policy: ImportPolicy) -> bool:
    return policy.team is not None or not _is_team_evidence(item)


def _is_team_evidence(item: StatedEvidence) -> bool:
    return item.source is EvidenceSource.OBSERVED or bool(item.team)


def _evidence_without_details(stated: StatedRelation, policy: ImportPolicy) -> Evidence:
    confidence = FULL_CONFIDENCE if stated.confidence is None else stated.confidence
    source = EvidenceSource.CURATED if policy.trust_as_curated else EvidenceSource.IMPORTED
    return _to_stored_evidence(StatedEvidence(source=source, confidence=confidence), policy)


def _convert_all_evidence(
    evidence: Iterable[StatedEvidence], policy: ImportPolicy
) -> list[Evidence]:
    return [_to_stored_evidence(item, policy) for item in evidence]


def _convert_imported_evidence(
    evidence: Iterable[StatedEvidence],
    policy: ImportPolicy,
    stored_evidence: Mapping[tuple[EvidenceSource, int | None], Evidence],
) -> list[Evidence]:
    """Adopt team evidence as it is, and merge the rest into one piece of imported evidence.

    Evidence that is stored already with the same content is skipped.
    """
    team_evidence, file_evidence = [], []
    for item in evidence:
        converted = _to_stored_evidence(item, policy)
        if _is_team_evidence(item):
            team_evidence.append(converted)
        elif item.source is EvidenceSource.IMPORTED:
            file_evidence.append(converted)
        elif (
            before := stored_evidence.get((converted.source, None))
        ) is None or not _has_same_content(before, converted):
            file_evidence.append(
                replace(converted, source=EvidenceSource.IMPORTED, origin=policy.origin)
            )
    return (
        [*team_evidence, _merge_into_strongest(file_evidence, policy)]
        if file_evidence
        else team_evidence
    )


def _merge_into_strongest(evidence: list[Evidence], policy: ImportPolicy) -> Evidence:
    if len(evidence) == 1:
        return evidence[0]
    best = max(evidence, key=lambda item: item.confidence or 0.0)
    fields = tuple({str(field): field for item in evidence for field in item.fields}.values())
    return replace(best, origin=policy.origin, fields=fields)


def _to_stored_evidence(item: StatedEvidence, policy: ImportPolicy) -> Evidence:
    return Evidence(
        source=item.source,
        team=policy.team if item.team else None,
        origin=item.origin or (policy.origin if item.source in ORIGIN_SOURCES else ""),
        confidence=item.confidence,
        successes=item.successes,
        failures=item.failures,
        seconds=item.seconds,
        fields=item.fields,
        last_seen=min(item.last_seen_at or policy.now, policy.now),
    )


def _has_same_content(first: Evidence, second: Evidence) -> bool:
    return (first.confidence, first.fields) == (second.confidence, second.fields)


def _is_same_evidence(first: Evidence, second: Evidence) -> bool:
    """Return whether two pieces of evidence are equal; times count for observed ones only."""
    is_observed = first.source is EvidenceSource.OBSERVED
    return replace(second, last_seen=first.last_seen) == first and (
        not is_observed or first.last_seen == second.last_seen
    )


def _is_curated(record: RelationRecord) -> bool:
    return any(item.source is EvidenceSource.CURATED for item in record.evidence)
