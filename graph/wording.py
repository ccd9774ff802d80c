"""Describe relations and their evidence in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation.text import describe_duration
from graph.relations import SHIPPED, Evidence, EvidenceSource, Relation, RelationKind

MAX_FIELDS: Final = 3
"""Fields of a data flow that are named; the rest are counted."""
ROUNDING_TOLERANCE: Final = 0.05
"""Rounding error of a count, in runs, from which "about" is added."""
_SOURCE_PHRASES: Final[Mapping[EvidenceSource, str]] = {
    EvidenceSource.CURATED: "curated",
    EvidenceSource.SCHEMA: "derived from the schemas of both",
    EvidenceSource.OBSERVED: "observed",
    EvidenceSource.IMPORTED: "imported",
}
_SOURCE_PREPOSITIONS: Final[Mapping[EvidenceSource, str]] = {
    EvidenceSource.CURATED: "by",
    EvidenceSource.SCHEMA: "from",
    EvidenceSource.IMPORTED: "from",
}


def write_sentence(relation: Relation, name_of: Callable[[int], str]) -> str:
    """Write the claim of a relation as a sentence.

    Example:
        >>> write_sentence(Relation(1, 2, RelationKind.DEPENDS_ON, 0.9, False),
        ...     {1: "a:x", 2: "b:y"}.__getitem__)
        'a:x can use b:y first, but does not require it'
    """
    source, target = name_of(relation.source), name_of(relation.target)
    if relation.kind is RelationKind.DEPENDS_ON and not relation.required:
        return f"{source} can use {target} first, but does not require it"
    phrase = relation.kind.traits.sentence.format(source=source, target=target)
    return phrase + _write_detail(relation)


def write_grounds(
    relation: Relation,
    evidence: Sequence[Evidence] = (),
    *,
    teams: Callable[[int], str] = "team {}".format,
) -> tuple[str, ...]:
    """Describe what a relation rests on, one text per source.

    Args:
        relation: Any relation.
        evidence: Its evidence that the caller may see; if empty, the sources that the relation
            names are described.
        teams: Returns the name of a team by primary key.

    Example:
        >>> counts = {"successes": 7.0, "failures": 1.0}
        >>> write_grounds(Relation(1, 2, RelationKind.PRECEDES, 0.8,
        ...     sources=(EvidenceSource.OBSERVED,), detail=counts))
        ('seen in 7 of 8 runs',)
    """
    if evidence:
        return tuple(_write_ground(relation.kind, item, teams) for item in evidence)
    return tuple(_write_source(relation, source) for source in relation.sources)


def write_data_flow(fields: Iterable[Mapping[str, Any]]) -> str:
    """Describe which output feeds which parameter.

    Args:
        fields: Each with JSON pointers `output` and `input`; without `output` if unknown.

    Example:
        >>> write_data_flow([{"output": "/items/*/id", "input": "/geoId"}])
        'its output /items/*/id feeds the parameter geoId'
    """
    pairs = [(field.get("output"), field.get("input", "")) for field in fields]
    shown = [
        ("its result" if output is None else f"its output {output or '(whole)'}")
        + f" feeds the parameter {_write_parameter(parameter)}"
        for output, parameter in pairs[:MAX_FIELDS]
    ]
    if len(pairs) > MAX_FIELDS:
        shown.append(f"{len(pairs) - MAX_FIELDS} more")
    return ", ".join(shown)


def _write_detail(relation: Relation) -> str:
    detail = relation.detail
    if relation.kind is RelationKind.PROVIDES and detail.get("fields"):
        return f": {write_data_flow(detail['fields'])}"
    if relation.kind is RelationKind.PRECEDES and detail.get("seconds") is not None:
        return f", by {describe_duration(detail['seconds'])} on average"
    text = ""
    if relation.kind is RelationKind.REPLACES:
        text = f" since version {detail['version']}" if detail.get("version") else ""
        if detail.get("deprecated_at"):
            text += f" (deprecated on {detail['deprecated_at']})"
    return text + (f": {detail['reason']}" if detail.get("reason") else "")


def _write_source(relation: Relation, source: EvidenceSource) -> str:
    if source is EvidenceSource.OBSERVED:
        counts = relation.detail
        return write_counts(
            relation.kind, counts.get("successes", 0.0), counts.get("failures", 0.0)
        )
    return _SOURCE_PHRASES[source]


def _write_ground(kind: RelationKind, evidence: Evidence, teams: Callable[[int], str]) -> str:
    if evidence.source is EvidenceSource.OBSERVED:
        by = "" if evidence.team is None else f" by {teams(evidence.team)}"
        return write_counts(kind, evidence.successes, evidence.failures, by=by)
    if evidence.team is not None:
        return f"derived from results that {teams(evidence.team)} saw"
    if evidence.origin == SHIPPED:
        return "comes with Foregate"
    signed = (
        f" {_SOURCE_PREPOSITIONS[evidence.source]} {evidence.origin}" if evidence.origin else ""
    )
    return evidence.source.value + signed if signed else _SOURCE_PHRASES[evidence.source]


def write_counts(kind: RelationKind, successes: float, failures: float, *, by: str = "") -> str:
    """Describe how often a relation held; decayed counts are rounded and marked "about".

    Example:
        >>> (write_counts(RelationKind.OFTEN_USED_WITH, 6.7, 1.2),
        ...  write_counts(RelationKind.PRECEDES, 1.0, 0.0))
        ('used together in about 7 of 8 runs', 'seen in 1 of 1 run')
    """
    held, runs = round(successes), round(successes + failures)
    error = max(abs(held - successes), abs(runs - successes - failures))
    seen = "used together" if kind is RelationKind.OFTEN_USED_WITH else "seen"
    if runs < 1:
        return f"{seen}{by} long ago"
    about = "about " if error > ROUNDING_TOLERANCE else ""
    return f"{seen}{by} in {about}{held} of {runs} run{'s' if runs > 1 else ''}"


def _write_parameter(pointer: str) -> str:
    """Write a JSON pointer as a parameter's path: `/filter/ids/*` is `filter.ids.*`."""
    parts = pointer.lstrip("/").split("/")
    return ".".join(canonical.unescape_token(part) for part in parts)
