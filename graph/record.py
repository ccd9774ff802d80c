"""Stored relations with their evidence, and the view of them that a team has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, NamedTuple

from graph.relations import (
    NO_DETAIL,
    SECONDS_A_DAY,
    Evidence,
    EvidenceSource,
    Relation,
    RelationKey,
    RelationKind,
    combine_confidence,
    compute_decay,
    select_counted,
)


class SelfRelationError(ValueError):
    """A relation must be between two tools."""

    def __init__(self, tool: object, kind: RelationKind) -> None:
        super().__init__(f"tool {tool} cannot be related to itself ({kind.value}); name two tools")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Related:
    source: int
    target: int
    kind: RelationKind

    @property
    def key(self) -> RelationKey:
        """The identifying key."""
        return (self.source, self.target, self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Attributes(_Related):
    """The attributes of a relation.

    Attributes:
        required: For `depends_on`: whether the source cannot do without the target.
        version: For `replaces`: since which version.
        deprecated_at: For `replaces`: when the target became deprecated.
    """

    required: bool = True
    reason: str = ""
    version: str = ""
    deprecated_at: date | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationRecord(_Attributes):
    """A relation as stored, with its evidence.

    Attributes:
        pk: Primary key; 0: not stored yet.
        rejected: Whether a person rejected it.
        evidence: The evidence of all teams.
    """

    pk: int = 0
    rejected: bool = False
    evidence: tuple[Evidence, ...] = ()

    @property
    def observing_teams(self) -> set[int]:
        """The teams with evidence of their own."""
        return {item.team for item in self.evidence if item.team is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationClaim(_Attributes):
    """A claim that two tools are related, to be stored.

    Attributes:
        confidence: Probability that it holds, in [0, 1]; None: left to the source.
        fields: For `provides`: {"output", "input"} JSON pointers.
    """

    confidence: float | None = None
    fields: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationObservation(_Related):
    """Counts of a relation observed in one or more runs.

    Attributes:
        successes: Times it held (`often_used_with`: co-occurrences).
        failures: Times it did not (`often_used_with`: the larger usage count minus successes).
        seconds: For `precedes`: average time between the two calls where it held.
    """

    successes: float = 0.0
    failures: float = 0.0
    seconds: float | None = None
    at: datetime


class GraphMetric(NamedTuple):
    """The metrics of a tool in the shared graph.

    Attributes:
        pagerank: PageRank; sums to 1 over all tools.
        community: Number of its community; the largest is 0.
        betweenness: Share of shortest paths through it, in [0, 1].
        closeness: Closeness centrality, in [0, 1].
    """

    pagerank: float
    community: int
    betweenness: float
    closeness: float


class CallCount(NamedTuple):
    """Calls of a tool."""

    calls: int
    failures: int

    def __add__(self, other: CallCount) -> CallCount:  # type: ignore[override]
        """Add up two counts."""
        return CallCount(self.calls + other.calls, self.failures + other.failures)


def relation_from_claim(claim: RelationClaim, evidence: Evidence) -> RelationRecord:
    """Return the relation that a claim states, with its evidence."""
    return RelationRecord(
        source=claim.source,
        target=claim.target,
        kind=claim.kind,
        required=claim.required,
        reason=claim.reason,
        version=claim.version,
        deprecated_at=claim.deprecated_at,
        evidence=(evidence,),
    )


def storage_key(source: int, target: int, kind: RelationKind) -> RelationKey:
    """Return the key that a relation is stored by; symmetric kinds start at the smaller tool.

    Raises:
        SelfRelationError: If source and target are the same.

    Example:
        >>> (storage_key(2, 1, RelationKind.ALTERNATIVE_TO)[:2],
        ...  storage_key(2, 1, RelationKind.PRECEDES)[:2])
        ((1, 2), (2, 1))
    """
    if source == target:
        raise SelfRelationError(source, kind)
    return (*kind.settle_ends(source, target), kind)


def view_for_team(record: RelationRecord, team: int | None, *, now: datetime) -> Relation | None:
    """Return a relation as the callers of a team see it; None if they do not see it.

    Args:
        record: The stored relation.
        team: Sees shared evidence and its own; None: only shared evidence.
        now: Time that the age of observations is measured at.
    """
    if record.rejected:
        return None
    visible = (item for item in record.evidence if item.team is None or item.team == team)
    evidence = select_counted(visible)
    if not evidence:
        return None
    return Relation(
        source=record.source,
        target=record.target,
        kind=record.kind,
        confidence=combine_confidence(evidence, now=now),
        required=record.required,
        sources=_distinct_sources(evidence),
        detail=_collect_detail(record, evidence, now=now),
    )


def _distinct_sources(evidence: list[Evidence]) -> tuple[EvidenceSource, ...]:
    if len(evidence) == 1:
        return (evidence[0].source,)
    present = {item.source for item in evidence}
    return tuple(source for source in EvidenceSource if source in present)


def _collect_detail(
    record: RelationRecord, evidence: list[Evidence], *, now: datetime
) -> Mapping[str, Any]:
    """Collect the detail of a relation; most share the one empty mapping."""
    detail: dict[str, Any] = {}
    if record.reason:
        detail["reason"] = record.reason
    if record.version:
        detail["version"] = record.version
    if record.deprecated_at is not None:
        detail["deprecated_at"] = record.deprecated_at.isoformat()
    fields = _collect_fields(evidence)
    if fields:
        detail["fields"] = fields
    if any(item.source is EvidenceSource.OBSERVED for item in evidence):
        detail.update(_sum_decayed_counts(evidence, now=now))
    return detail or NO_DETAIL


def _collect_fields(evidence: list[Evidence]) -> list[Mapping[str, str]]:
    """Return the distinct field pairs; an input with a known output loses its pair without one."""
    pairs: list[Mapping[str, str]] = []
    for item in evidence:
        pairs += [field for field in item.fields if field not in pairs]
    known_inputs = {field.get("input") for field in pairs if "output" in field}
    return [
        field for field in pairs if "output" in field or field.get("input") not in known_inputs
    ]


def _sum_decayed_counts(evidence: list[Evidence], *, now: datetime) -> dict[str, float]:
    held = failed = timed_successes = seconds = 0.0
    for item in evidence:
        if item.source is not EvidenceSource.OBSERVED:
            continue
        weight = _decay_weight(item.last_seen, now)
        held += weight * item.successes
        failed += weight * item.failures
        if item.seconds is not None:
            timed_successes += weight * item.successes
            seconds += weight * item.successes * item.seconds
    counts = {"successes": held, "failures": failed}
    return counts | {"seconds": seconds / timed_successes} if timed_successes else counts


def merge_observations(observations: Iterable[RelationObservation]) -> list[RelationObservation]:
    """Return one observation per relation, sorted by key, as of when it was last seen.

    Raises:
        SelfRelationError: If one relates a tool to itself.
        ValueError: If a count is negative or not finite.
    """
    merged: dict[RelationKey, RelationObservation] = {}
    for observation in observations:
        _check_observation(observation)
        key = storage_key(*observation.key)
        stored = replace(observation, source=key[0], target=key[1])
        merged[key] = _add_observations(merged[key], stored) if key in merged else stored
    return [merged[key] for key in sorted(merged)]


def _check_observation(observation: RelationObservation) -> None:
    counts = (observation.successes, observation.failures, observation.seconds or 0.0)
    if not all(math.isfinite(count) and count >= 0 for count in counts):
        raise ValueError(f"counts and seconds of an observation are 0 or more, not {counts}")


def _add_observations(
    first: RelationObservation, second: RelationObservation
) -> RelationObservation:
    """Add two observations of one relation, decayed to the time of the later one."""
    at = max(first.at, second.at)
    first_weight, second_weight = _decay_weight(first.at, at), _decay_weight(second.at, at)
    held = first_weight * first.successes + second_weight * second.successes
    seconds = first.seconds if second.seconds is None else second.seconds
    if first.seconds is not None and second.seconds is not None and held:
        seconds = (
            first_weight * first.successes * first.seconds
            + second_weight * second.successes * second.seconds
        ) / held
    return replace(
        first,
        successes=held,
        failures=first_weight * first.failures + second_weight * second.failures,
        seconds=seconds,
        at=at,
    )


def _decay_weight(seen_at: datetime, now: datetime) -> float:
    return compute_decay((now - seen_at).total_seconds() / SECONDS_A_DAY)
