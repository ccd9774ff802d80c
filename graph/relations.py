"""How two tools may relate, what speaks for it, and how sure that makes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

SECONDS_A_DAY: Final = 86_400
HALF_LIFE_DAYS: Final = 30.0
"""Age at which an observation counts half."""
PRIOR_STRENGTH: Final = 4.0
"""Observed runs that weigh as much as what schemas or an import say."""
UNSEEN: Final = 0.25
"""Confidence in a relation for which nothing speaks yet but that somebody looked."""
RATIO_STRENGTH: Final = 1.0
"""The same weight for co-occurrence, which is a plain ratio once it has been counted often."""


class Kind(StrEnum):
    """How the tool it starts from relates to the tool it leads to."""

    DEPENDS_ON = "depends_on"
    PRECEDES = "precedes"
    PROVIDES = "provides"
    OFTEN_USED_WITH = "often_used_with"
    ALTERNATIVE_TO = "alternative_to"
    REPLACES = "replaces"
    MUTUALLY_EXCLUSIVE = "mutually_exclusive"
    VALIDATES = "validates"
    OPTIMIZES = "optimizes"


class Source(StrEnum):
    """Where evidence for a relation comes from."""

    CURATED = "curated"
    SCHEMA = "schema"
    OBSERVED = "observed"
    IMPORTED = "imported"


OF_A_TEAM: Final = frozenset({Source.OBSERVED, Source.SCHEMA})
"""Sources whose evidence may be one team's: its runs, and what results that it saw speak for."""
SYMMETRIC: Final = frozenset({Kind.OFTEN_USED_WITH, Kind.ALTERNATIVE_TO, Kind.MUTUALLY_EXCLUSIVE})
"""Kinds that hold both ways, whichever way they are stored."""
PATH_KINDS: Final = frozenset(
    {Kind.DEPENDS_ON, Kind.PRECEDES, Kind.PROVIDES, Kind.OFTEN_USED_WITH}
)
"""Kinds that PageRank, communities and paths are computed on."""
Key = tuple[int, int, Kind]
"""Source, target and kind of a relation, in the order they are stored in."""
NO_DETAIL: Final[Mapping[str, Any]] = MappingProxyType({})
LEAST_BINDING: Final = 0.5
"""Confidence from which on a required dependency binds, whoever says so."""
_SCHEMA_ALONE: Final = (Source.SCHEMA,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What one source says of a relation.

    Attributes:
        source: Where it comes from.
        confidence: Of the source itself, in [0, 1]; None where only counts speak.
        successes: Times it held (of `often_used_with`: co-occurrences); decays, so a fraction.
        failures: Times it did not (of `often_used_with`: the larger usage less the successes).
        last_seen: When it was counted or said last.
    """

    source: Source
    confidence: float | None
    successes: float = 0.0
    failures: float = 0.0
    last_seen: datetime


class Relation(NamedTuple):
    """A relation between two tools as callers of one team see it.

    Attributes:
        source: Primary key of the tool it starts from.
        target: Primary key of the tool it leads to.
        kind: How they relate.
        confidence: That it holds, in [0, 1].
        required: Of `depends_on`: whether the source cannot do without the target.
        sources: Whose evidence it rests on.
        detail: Whatever else is known; keys `reason`, `version`, `deprecated_at`, `seconds`,
            `successes`, `failures`, `fields` (a list of {"output", "input"} JSON pointers).
    """

    source: int
    target: int
    kind: Kind
    confidence: float
    required: bool = True
    sources: tuple[Source, ...] = ()
    detail: Mapping[str, Any] = NO_DETAIL

    @property
    def key(self) -> Key:
        """What identifies it."""
        return (self.source, self.target, self.kind)


def is_binding(relation: Relation) -> bool:
    """Whether the source of a relation cannot do without the target.

    A required dependency that is less sure than not binds only if it is curated.

    Example:
        >>> is_binding(Relation(1, 2, Kind.DEPENDS_ON, 0.9)), is_binding(
        ...     Relation(1, 2, Kind.DEPENDS_ON, 0.4))
        (True, False)
    """
    is_required = relation.kind is Kind.DEPENDS_ON and relation.required
    return is_required and (
        relation.confidence >= LEAST_BINDING or Source.CURATED in relation.sources
    )


def is_guess(relation: Relation) -> bool:
    """Whether servers alone speak for a relation, by texts or results: no run, no person.

    What is observed with nothing counted says no more than schemas do.

    Example:
        >>> is_guess(Relation(1, 2, Kind.PROVIDES, 0.9, sources=(Source.SCHEMA,)))
        True
    """
    if relation.sources == _SCHEMA_ALONE:
        return True
    counted = relation.detail.get("successes", 1.0) + relation.detail.get("failures", 0.0)
    return not counted and OF_A_TEAM.issuperset(relation.sources)


def decay(age_days: float) -> float:
    """Return how much an observation of an age still counts, in (0, 1].

    Example:
        >>> decay(0.0), decay(HALF_LIFE_DAYS), decay(-1.0)
        (1.0, 0.5, 1.0)
    """
    return float(0.5 ** (max(age_days, 0.0) / HALF_LIFE_DAYS))


def confidence(kind: Kind, evidence: Iterable[Evidence], *, now: datetime) -> float:
    """Combine what speaks for a relation into how sure it is, in [0, 1].

    A person's word stands as it is. Otherwise the best of what schemas and imports say is a
    prior that observed runs move: the mean of a Beta distribution, its counts decayed by age.

    Args:
        kind: Of the relation; co-occurrence is a ratio and has a weaker prior.
        evidence: Of every source that counts for the caller.
        now: Time that ages are taken at.

    Example:
        >>> from datetime import UTC
        >>> at = datetime(2026, 1, 1, tzinfo=UTC)
        >>> seen = Evidence(source=Source.OBSERVED, confidence=None, successes=157, failures=13,
        ...                 last_seen=at)
        >>> round(confidence(Kind.OFTEN_USED_WITH, [seen], now=at), 2)
        0.92
    """
    priors: list[float] = []
    said, held, failed = 0.0, 0.0, 0.0
    is_curated = False
    for item in evidence:
        if item.source is Source.CURATED:
            is_curated, said = True, max(said, 1.0 if item.confidence is None else item.confidence)
        elif item.confidence is not None:
            priors.append(item.confidence)
        if item.source is Source.OBSERVED:
            weight = decay((now - item.last_seen).total_seconds() / SECONDS_A_DAY)
            held += weight * item.successes
            failed += weight * item.failures
    if is_curated:
        return said
    strength = RATIO_STRENGTH if kind is Kind.OFTEN_USED_WITH else PRIOR_STRENGTH
    prior = max(priors, default=UNSEEN)
    return (strength * prior + held) / (strength + held + failed)
