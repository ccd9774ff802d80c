"""Relations between tools, the evidence for them, and the confidence it yields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Self, TypeVar

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


Effect = Literal["alternative", "check", "exclusion", "preference", "replacement"]
"""What a kind does to an answer or a workflow with one of its tools, beside paths and order:

- alternative: either tool is offered if the other cannot be called;
- check: the source is offered with the target;
- exclusion: neither is offered beside the other, and a required dependency contradicts it;
- preference: the source comes first among equally related tools;
- replacement: the source comes before the target, which carries a warning and is never a related
  tool; two tools that replace each other contradict.
"""
ToolEnd = TypeVar("ToolEnd", int, str)
"""A tool: its primary key or its id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KindTraits:
    """Whatever is particular to a kind of relation.

    Attributes:
        name: Value of the member; at most 20 characters.
        sentence: The relation as a sentence about `{source}` and `{target}`.
        phrases: How the source relates to the other tool, and how the target does.
        stroke: Of its lines in the console: the colour, as a custom property of its style sheet,
            and the lengths of dashes and gaps in pixels; none: a solid line.
        is_symmetric: Whether it holds in both directions.
        is_path: Whether PageRank, communities, paths and related tools follow it. A kind that
            orders as well also orders suggested workflows.
        runs_first: The end that runs before the other; None: no order follows from it. All kinds
            but `depends_on` give way where they close a cycle.
        order_rank: Which of those that give way does so last at equal confidence: the lowest.
        effect: See `Effect`; None: none of these.
    """

    name: str
    sentence: str
    phrases: tuple[str, str]
    stroke: tuple[str, tuple[int, ...]]
    is_symmetric: bool = False
    is_path: bool = False
    runs_first: Literal["source", "target"] | None = None
    order_rank: int = 9
    effect: Effect | None = None


class RelationKind(StrEnum):
    """How the source of a relation relates to its target: a row for each kind.

    Code names a kind only where it reads or writes data that this kind alone has: `required`,
    fields, seconds, versions, counts of common use.
    """

    traits: KindTraits

    def __new__(cls, traits: Any) -> Self:  # mypy reads look-ups by value as calls of this
        """Make the member of a row."""
        member = str.__new__(cls, traits.name)
        member._value_ = traits.name
        member.traits = traits
        return member

    DEPENDS_ON = KindTraits(
        name="depends_on",
        sentence="{source} requires {target}",
        phrases=("requires {}", "is required by {}"),
        stroke=("--chart-3", (12, 4)),
        is_path=True,
        runs_first="target",
    )
    PRECEDES = KindTraits(
        name="precedes",
        sentence="{source} comes before {target}",
        phrases=("comes before {}", "comes after {}"),
        stroke=("--chart-1", ()),
        is_path=True,
        runs_first="source",
        order_rank=1,
    )
    PROVIDES = KindTraits(
        name="provides",
        sentence="{source} provides for {target}",
        phrases=("provides input for {}", "takes input from {}"),
        stroke=("--chart-2", (9, 3, 2, 3)),
        is_path=True,
        runs_first="source",
        order_rank=0,
    )
    OFTEN_USED_WITH = KindTraits(
        name="often_used_with",
        sentence="{source} and {target} are often used together",
        phrases=("is often used with {}",) * 2,
        stroke=("--chart-8", (2, 4)),
        is_symmetric=True,
        is_path=True,
    )
    ALTERNATIVE_TO = KindTraits(
        name="alternative_to",
        sentence="{source} and {target} are alternatives",
        phrases=("is an alternative to {}",) * 2,
        stroke=("--chart-4", (5, 4)),
        is_symmetric=True,
        effect="alternative",
    )
    REPLACES = KindTraits(
        name="replaces",
        sentence="{source} replaces {target}",
        phrases=("replaces {}", "is replaced by {}"),
        stroke=("--chart-6", (18, 4)),
        effect="replacement",
    )
    MUTUALLY_EXCLUSIVE = KindTraits(
        name="mutually_exclusive",
        sentence="{source} and {target} exclude each other",
        phrases=("must not be used together with {}",) * 2,
        stroke=("--chart-5", (2, 2, 2, 7)),
        is_symmetric=True,
        effect="exclusion",
    )
    VALIDATES = KindTraits(
        name="validates",
        sentence="{source} checks {target}",
        phrases=("checks the work of {}", "can be checked with {}"),
        stroke=("--chart-7", (14, 3, 2, 3, 2, 3)),
        runs_first="target",
        order_rank=2,
        effect="check",
    )
    OPTIMIZES = KindTraits(
        name="optimizes",
        sentence="{source} optimizes {target}",
        phrases=("optimizes {}", "is optimized by {}"),
        stroke=("--chart-9", (5, 2, 1, 2)),
        effect="preference",
    )

    @property
    def words(self) -> str:
        """Its name in words."""
        return self.value.replace("_", " ")

    def settle_ends(self, source: ToolEnd, target: ToolEnd) -> tuple[ToolEnd, ToolEnd]:
        """Return the ends as they are stored: a symmetric kind starts at the lesser one.

        Example:
            >>> RelationKind.ALTERNATIVE_TO.settle_ends(2, 1)
            (1, 2)
            >>> RelationKind.PRECEDES.settle_ends(2, 1)
            (2, 1)
        """
        if self.traits.is_symmetric and target < source:
            return target, source
        return source, target


class EvidenceSource(StrEnum):
    """Where evidence for a relation comes from."""

    CURATED = "curated"
    SCHEMA = "schema"
    OBSERVED = "observed"
    IMPORTED = "imported"


TEAM_SOURCES: Final = frozenset({EvidenceSource.OBSERVED, EvidenceSource.SCHEMA})
"""Sources whose evidence may belong to one team: its runs, and the results it saw."""
PATH_KINDS: Final = tuple(kind for kind in RelationKind if kind.traits.is_path)
"""Kinds that PageRank, communities and paths are computed on; members are slow to hash."""
SOFT_KINDS: Final = tuple(
    kind for kind in RelationKind if kind.traits.runs_first and kind is not RelationKind.DEPENDS_ON
)
"""Kinds that constrain an order unless that closes a cycle."""
RelationKey = tuple[int, int, RelationKind]
"""Source, target and kind of a relation, in stored direction."""
NO_DETAIL: Final[Mapping[str, Any]] = MappingProxyType({})
SHIPPED: Final = "foregate"
"""Origin of evidence shipped with the product."""
MIN_BINDING_CONFIDENCE: Final = 0.5
"""Confidence from which a required dependency binds, whatever its source."""
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

    @property
    def run_order(self) -> tuple[int, int]:
        """Source and target, of a kind that orders them the one first that runs first."""
        if self.kind.traits.runs_first == "target":
            return self.target, self.source
        return self.source, self.target


def select_kinds(*effects: Effect) -> tuple[RelationKind, ...]:
    """Return the kinds with one of some effects.

    Example:
        >>> select_kinds("replacement")
        (<RelationKind.REPLACES: 'replaces'>,)
    """
    return tuple(kind for kind in RelationKind if kind.traits.effect in effects)


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
        relation.kind.traits.order_rank,
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
