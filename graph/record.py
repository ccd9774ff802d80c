"""What is stored of a relation, and how it looks to the callers of a team."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from graph.relations import (
    NO_DETAIL,
    SECONDS_A_DAY,
    SYMMETRIC,
    Evidence,
    Key,
    Kind,
    Relation,
    Source,
    confidence,
    decay,
)

SHIPPED: Final = "foregate"
"""Origin of what comes with the product."""


class SelfRelation(ValueError):
    """A relation must be between two tools."""

    def __init__(self, tool: object, kind: Kind) -> None:
        super().__init__(f"tool {tool} cannot be related to itself ({kind.value}); name two tools")


@dataclass(frozen=True, kw_only=True, slots=True)
class Said(Evidence):
    """What one source says of a relation, as it is stored.

    Attributes:
        team: Primary key of the team that observed it, or saw the results that it is derived
            from; None: everybody's.
        origin: Who or what said it: a user, a file.
        seconds: Of `precedes`: average time between the two.
        fields: Of `provides`: {"output", "input"} JSON pointers.
    """

    team: int | None = None
    origin: str = ""
    seconds: float | None = None
    fields: tuple[Mapping[str, str], ...] = ()

    @property
    def is_a_persons(self) -> bool:
        """Whether a person of this installation says so, and not what it came with."""
        return self.source is Source.CURATED and self.origin != SHIPPED


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A relation as it is stored, with all that is said of it.

    Attributes:
        pk: Primary key; 0: not stored yet.
        source: Primary key of the tool it starts from.
        target: Primary key of the tool it leads to.
        kind: How they relate.
        required: Of `depends_on`: whether the source cannot do without the target.
        rejected: Whether a person said that it does not hold.
        reason: Why; of alternatives above all.
        version: Of `replaces`: since which version.
        deprecated_at: Of `replaces`: when the target became deprecated.
        said: The evidence, of all teams.
    """

    pk: int = 0
    source: int
    target: int
    kind: Kind
    required: bool = True
    rejected: bool = False
    reason: str = ""
    version: str = ""
    deprecated_at: date | None = None
    said: tuple[Said, ...] = ()

    @property
    def key(self) -> Key:
        """What identifies it."""
        return (self.source, self.target, self.kind)

    @property
    def by_a_person(self) -> Said | None:
        """What a person of this installation says of it; None: nothing."""
        return next((said for said in self.said if said.is_a_persons), None)

    @property
    def teams(self) -> set[int]:
        """Return the teams that know something of it which not everybody does."""
        return {said.team for said in self.said if said.team is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """What somebody or something says of two tools, to be stored.

    Attributes:
        source: Primary key of the tool it starts from.
        target: Primary key of the tool it leads to.
        kind: How they relate.
        confidence: That it holds, in [0, 1]; None: as the source of the claim goes.
        required: Of `depends_on`: whether the source cannot do without the target.
        reason: Why; of alternatives above all.
        version: Of `replaces`: since which version.
        deprecated_at: Of `replaces`: when the target became deprecated.
        fields: Of `provides`: {"output", "input"} JSON pointers.
    """

    source: int
    target: int
    kind: Kind
    confidence: float | None = None
    required: bool = True
    reason: str = ""
    version: str = ""
    deprecated_at: date | None = None
    fields: tuple[Mapping[str, str], ...] = ()

    @property
    def key(self) -> Key:
        """What identifies the relation."""
        return (self.source, self.target, self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What was seen of two tools in a run, or in several.

    Attributes:
        source: Primary key of the tool it starts from.
        target: Primary key of the tool it leads to.
        kind: How they relate.
        successes: Times it held (of `often_used_with`: co-occurrences).
        failures: Times it did not (of `often_used_with`: uses of the tool used more, less those).
        seconds: Of `precedes`: average time between the two where it held.
        at: When.
    """

    source: int
    target: int
    kind: Kind
    successes: float = 0.0
    failures: float = 0.0
    seconds: float | None = None
    at: datetime

    @property
    def key(self) -> Key:
        """What identifies the relation."""
        return (self.source, self.target, self.kind)


class Metric(NamedTuple):
    """A tool's place in the shared graph.

    Attributes:
        pagerank: Its share of all rank; the ranks sum to 1.
        community: Number of its community, the largest being 0.
        betweenness: Share of shortest paths through it, in [0, 1].
        closeness: How near the others are, in [0, 1].
    """

    pagerank: float
    community: int
    betweenness: float
    closeness: float


def stated(claim: Claim, said: Said) -> Record:
    """Return the relation that a claim is of, with what is said of it."""
    return Record(
        source=claim.source,
        target=claim.target,
        kind=claim.kind,
        required=claim.required,
        reason=claim.reason,
        version=claim.version,
        deprecated_at=claim.deprecated_at,
        said=(said,),
    )


def ordered(source: int, target: int, kind: Kind) -> Key:
    """Return the key that a relation is stored by: symmetric kinds from the smaller tool.

    Raises:
        SelfRelation: If the two are one.

    Example:
        >>> ordered(2, 1, Kind.ALTERNATIVE_TO)[:2], ordered(2, 1, Kind.PRECEDES)[:2]
        ((1, 2), (2, 1))
    """
    if source == target:
        raise SelfRelation(source, kind)
    if kind in SYMMETRIC and source > target:
        return (target, source, kind)
    return (source, target, kind)


def view(record: Record, team: int | None, *, now: datetime) -> Relation | None:
    """Return a relation as the callers of a team see it; None where they see none.

    Args:
        record: What is stored.
        team: Sees what is everybody's and its own; None: only what is everybody's.
        now: Time that the age of observations is taken at.
    """
    if record.rejected:
        return None
    said = [one for one in record.said if one.team is None or one.team == team]
    if not said:
        return None
    return Relation(
        source=record.source,
        target=record.target,
        kind=record.kind,
        confidence=confidence(record.kind, said, now=now),
        required=record.required,
        sources=_sources(said),
        detail=_detail(record, said, now=now),
    )


def _sources(said: list[Said]) -> tuple[Source, ...]:
    if len(said) == 1:
        return (said[0].source,)
    named = {one.source for one in said}
    return tuple(source for source in Source if source in named)


def _detail(record: Record, said: list[Said], *, now: datetime) -> Mapping[str, Any]:
    """Gather what else is known; most relations share the one empty mapping."""
    detail: dict[str, Any] = {}
    if record.reason:
        detail["reason"] = record.reason
    if record.version:
        detail["version"] = record.version
    if record.deprecated_at is not None:
        detail["deprecated_at"] = record.deprecated_at.isoformat()
    fields = _fields(said)
    if fields:
        detail["fields"] = fields
    if any(one.source is Source.OBSERVED for one in said):
        detail.update(_counts(said, now=now))
    return detail or NO_DETAIL


def _fields(said: list[Said]) -> list[Mapping[str, str]]:
    """Return what feeds what, each once; where an output is known, not also that none is."""
    found: list[Mapping[str, str]] = []
    for one in said:
        found += [field for field in one.fields if field not in found]
    known = {field.get("input") for field in found if "output" in field}
    return [field for field in found if "output" in field or field.get("input") not in known]


def _counts(said: list[Said], *, now: datetime) -> dict[str, float]:
    """Add up what was observed, each count as much as its age leaves of it."""
    held = failed = timed = seconds = 0.0
    for one in said:
        if one.source is not Source.OBSERVED:
            continue
        weight = _weight(one.last_seen, now)
        held += weight * one.successes
        failed += weight * one.failures
        if one.seconds is not None:
            timed += weight * one.successes
            seconds += weight * one.successes * one.seconds
    counts = {"successes": held, "failures": failed}
    return counts | {"seconds": seconds / timed} if timed else counts


def gathered(observations: Iterable[Observation]) -> list[Observation]:
    """Return one observation for each relation, by key, each as of when it was seen last.

    Raises:
        SelfRelation: If one is of a tool with itself.
        ValueError: If a count is negative or no number.
    """
    found: dict[Key, Observation] = {}
    for one in observations:
        _check(one)
        key = ordered(*one.key)
        here = replace(one, source=key[0], target=key[1])
        found[key] = _added(found[key], here) if key in found else here
    return [found[key] for key in sorted(found)]


def _check(one: Observation) -> None:
    counts = (one.successes, one.failures, one.seconds or 0.0)
    if not all(math.isfinite(count) and count >= 0 for count in counts):
        raise ValueError(f"counts and seconds of an observation are 0 or more, not {counts}")


def _added(one: Observation, other: Observation) -> Observation:
    """Add two observations of a relation up, as of the later one."""
    at = max(one.at, other.at)
    old, new = _weight(one.at, at), _weight(other.at, at)
    held = old * one.successes + new * other.successes
    seconds = one.seconds if other.seconds is None else other.seconds
    if one.seconds is not None and other.seconds is not None and held:
        seconds = (
            old * one.successes * one.seconds + new * other.successes * other.seconds
        ) / held
    return replace(
        one,
        successes=held,
        failures=old * one.failures + new * other.failures,
        seconds=seconds,
        at=at,
    )


def _weight(seen_at: datetime, now: datetime) -> float:
    return decay((now - seen_at).total_seconds() / SECONDS_A_DAY)
