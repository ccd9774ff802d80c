"""Relations between tools, the evidence for them, and the confidence it yields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

SECONDS_A_DAY: Final = 86_400
HALF_LIFE_DAYS: Final = 30.0
"""Age at which an observation has half its weight."""
PRIOR_STRENGTH: Final = 4.0
"""Weight of the prior (from schemas or imports), in observed runs."""
UNOBSERVED_CONFIDENCE: Final = 0.25
"""Prior confidence of a relation without schema or import evidence."""
MIN_OBSERVED_RUNS: Final = 1.0
"""Runs, by weight, from which observations count: one run of a workflow, or calls made one by one
in two sessions. Fewer may be an accident."""
ROUNDING: Final = 1e-6
"""Error that a sum of shares of one run may have."""


class RelationKind(StrEnum):
    """How the source of a relation relates to its target."""

    DEPENDS_ON = "depends_on"
    PRECEDES = "precedes"
    PROVIDES = "provides"
    OFTEN_USED_WITH = "often_used_with"
    ALTERNATIVE_TO = "alternative_to"
    REPLACES = "replaces"
    MUTUALLY_EXCLUSIVE = "mutually_exclusive"
    VALIDATES = "validates"
    OPTIMIZES = "optimizes"


class EvidenceSource(StrEnum):
    """Where evidence for a relation comes from."""

    CURATED = "curated"
    SCHEMA = "schema"
    OBSERVED = "observed"
    IMPORTED = "imported"


TEAM_SOURCES: Final = frozenset({EvidenceSource.OBSERVED, EvidenceSource.SCHEMA})
"""Sources whose evidence may belong to one team: its runs, and the results it saw."""
SYMMETRIC_KINDS: Final = frozenset(
    {RelationKind.OFTEN_USED_WITH, RelationKind.ALTERNATIVE_TO, RelationKind.MUTUALLY_EXCLUSIVE}
)
"""Kinds that hold in both directions."""
PATH_KINDS: Final = frozenset(
    {
        RelationKind.DEPENDS_ON,
        RelationKind.PRECEDES,
        RelationKind.PROVIDES,
        RelationKind.OFTEN_USED_WITH,
    }
)
"""Kinds that PageRank, communities and paths are computed on."""
RelationKey = tuple[int, int, RelationKind]
"""Source, target and kind of a relation, in stored direction."""
NO_DETAIL: Final[Mapping[str, Any]] = MappingProxyType({})
SHIPPED: Final = "foregate"
"""Origin of evidence shipped with the product."""
MIN_BINDING_CONFIDENCE: Final = 0.5
"""Confidence from which a required dependency binds, whatever its source."""
SOFT_KINDS: Final = (RelationKind.PROVIDES, RelationKind.PRECEDES, RelationKind.VALIDATES)
"""Kinds that constrain an order unless that closes a cycle; priority at equal confidence."""
_SCHEMA_ONLY: Final = (EvidenceSource.SCHEMA,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The evidence of one source for a relation.

    Attributes:
        confidence: Stated by the source, in [0, 1]; None if it only counts.
        successes: Times the relation held (`often_used_with`: co-occurrences); fractional, since
            counts decay.
        failures: Times it did not (`often_used_with`: the larger usage count minus successes).
        seconds: For `precedes`: average time between the two calls.
        fields: For `provides`: {"output", "input"} JSON pointers.
        origin: Who or what it came from: a user, a file.
        team: Primary key of the team that observed it, or saw the results that it is derived
            from; None: shared evidence.
        last_seen: When it was last counted or stated.
    """

    source: EvidenceSource
    confidence: float | None
    successes: float = 0.0
    failures: float = 0.0
    seconds: float | None = None
    fields: tuple[Mapping[str, str], ...] = ()
    origin: str = ""
    team: int | None = None
    last_seen: datetime


class Relation(NamedTuple):
    """A relation between two tools as callers of one team see it.

    Attributes:
        confidence: Probability that it holds, in [0, 1].
        required: For `depends_on`: whether the source cannot do without the target.
        detail: Further data; keys `reason`, `version`, `deprecated_at`, `seconds`,
            `successes`, `failures`, `fields` (a list of {"output", "input"} JSON pointers).
    """

    source: int
    target: int
    kind: RelationKind
    confidence: float
    required: bool = True
    sources: tuple[EvidenceSource, ...] = ()
    detail: Mapping[str, Any] = NO_DETAIL

    @property
    def key(self) -> RelationKey:
        """The identifying key."""
        return (self.source, self.target, self.kind)


def is_binding_dependency(relation: Relation) -> bool:
    """Return whether the source of a relation cannot do without the target.

    A required dependency of confidence below 0.5 binds only if it is curated.

    Example:
        >>> [is_binding_dependency(Relation(1, 2, RelationKind.DEPENDS_ON, confidence))
        ...  for confidence in (0.9, 0.4)]
        [True, False]
    """
    is_required = relation.kind is RelationKind.DEPENDS_ON and relation.required
    return is_required and (
        relation.confidence >= MIN_BINDING_CONFIDENCE or EvidenceSource.CURATED in relation.sources
    )


def is_server_guess(relation: Relation) -> bool:
    """Return whether only servers vouch for a relation (by texts, schemas, results).

    No run and no person does; observed evidence without counts adds nothing to schemas.

    Example:
        >>> is_server_guess(Relation(1, 2, RelationKind.PROVIDES, 0.9,
        ...     sources=(EvidenceSource.SCHEMA,)))
        True
    """
    if relation.sources == _SCHEMA_ONLY:
        return True
    counted = relation.detail.get("successes", 1.0) + relation.detail.get("failures", 0.0)
    return not counted and TEAM_SOURCES.issuperset(relation.sources)


def rank_soft(relation: Relation) -> tuple[bool, float, int, int, int]:
    """Return the key that sorts relations of `SOFT_KINDS`: those that give way last come first."""
    return (
        is_server_guess(relation),
        -relation.confidence,
        SOFT_KINDS.index(relation.kind),
        relation.source,
        relation.target,
    )


def compute_decay(age_days: float) -> float:
    """Return the weight of an observation of some age, in (0, 1].

    Example:
        >>> compute_decay(0.0), compute_decay(HALF_LIFE_DAYS), compute_decay(-1.0)
        (1.0, 0.5, 1.0)
    """
    return float(0.5 ** (max(age_days, 0.0) / HALF_LIFE_DAYS))


def select_counted(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence that counts: all but observations of too few runs.

    Without other evidence, the relation must have held in as many.

    Example:
        >>> from datetime import UTC
        >>> at = datetime(2026, 1, 1, tzinfo=UTC)
        >>> once = Evidence(source=EvidenceSource.OBSERVED, confidence=None, successes=0.9,
        ...     last_seen=at)
        >>> len(select_counted([once])), len(select_counted([once, once]))
        (0, 2)
    """
    listed = list(evidence)
    observed = [item for item in listed if item.source is EvidenceSource.OBSERVED]
    if not observed:
        return listed
    held = sum(item.successes for item in observed)
    failed = sum(item.failures for item in observed)
    runs = held if len(observed) == len(listed) else held + failed
    if runs > MIN_OBSERVED_RUNS - ROUNDING:
        return listed
    return [item for item in listed if item.source is not EvidenceSource.OBSERVED]


def combine_confidence(evidence: Iterable[Evidence], *, now: datetime) -> float:
    """Combine the evidence for a relation into its confidence, in [0, 1].

    Curated evidence is taken as it is. Otherwise the best confidence of schemas and imports is a
    prior that observed runs update: the mean of a Beta distribution, its counts decayed by age.
    Thus few runs change it little, whatever share of them it held in.

    Example:
        >>> from datetime import UTC
        >>> at = datetime(2026, 1, 1, tzinfo=UTC)
        >>> runs = Evidence(source=EvidenceSource.OBSERVED, confidence=None, successes=157,
        ...     failures=13, last_seen=at)
        >>> round(combine_confidence([runs], now=at), 2)
        0.91
    """
    priors: list[float] = []
    curated, held, failed = 0.0, 0.0, 0.0
    is_curated = False
    for item in select_counted(evidence):
        if item.source is EvidenceSource.CURATED:
            is_curated = True
            curated = max(curated, 1.0 if item.confidence is None else item.confidence)
        elif item.confidence is not None:
            priors.append(item.confidence)
        if item.source is EvidenceSource.OBSERVED:
            weight = compute_decay((now - item.last_seen).total_seconds() / SECONDS_A_DAY)
            held += weight * item.successes
            failed += weight * item.failures
    if is_curated:
        return curated
    prior = max(priors, default=UNOBSERVED_CONFIDENCE)
    return (PRIOR_STRENGTH * prior + held) / (PRIOR_STRENGTH + held + failed)
