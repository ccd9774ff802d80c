"""Relations and what speaks for them, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from gateway_project.foundation import canonical
from graph.record import SHIPPED, Said
from graph.relations import Kind, Relation, Source

MAX_FIELDS: Final = 3
"""Fields of a data flow that are named; the rest is counted."""
ROUNDED_AWAY: Final = 0.05
"""Part of a run that may be left out without a word."""
_UNSIGNED: Final[Mapping[Source, str]] = {
    Source.CURATED: "curated",
    Source.SCHEMA: "derived from the schemas of both",
    Source.OBSERVED: "observed",
    Source.IMPORTED: "imported",
}
_PREPOSITIONS: Final[Mapping[Source, str]] = {
    Source.CURATED: "by",
    Source.SCHEMA: "from",
    Source.IMPORTED: "from",
}
_PHRASES: Final[Mapping[Kind, str]] = {
    Kind.DEPENDS_ON: "{source} requires {target}",
    Kind.PRECEDES: "{source} comes before {target}",
    Kind.PROVIDES: "{source} provides for {target}",
    Kind.OFTEN_USED_WITH: "{source} and {target} are often used together",
    Kind.ALTERNATIVE_TO: "{source} and {target} are alternatives",
    Kind.REPLACES: "{source} replaces {target}",
    Kind.MUTUALLY_EXCLUSIVE: "{source} and {target} exclude each other",
    Kind.VALIDATES: "{source} checks {target}",
    Kind.OPTIMIZES: "{source} optimizes {target}",
}


def sentence(relation: Relation, names: Callable[[int], str]) -> str:
    """Say what a relation claims.

    Args:
        relation: Any.
        names: Name of a tool by primary key.

    Example:
        >>> sentence(Relation(1, 2, Kind.DEPENDS_ON, 0.9, False), {1: "a:x", 2: "b:y"}.__getitem__)
        'a:x can use b:y first, but does without'
    """
    source, target = names(relation.source), names(relation.target)
    if relation.kind is Kind.DEPENDS_ON and not relation.required:
        return f"{source} can use {target} first, but does without"
    phrase = _PHRASES[relation.kind].format(source=source, target=target)
    return phrase + _detail(relation)


def grounds(
    relation: Relation,
    said: Sequence[Said] = (),
    *,
    teams: Callable[[int], str] = "team {}".format,
) -> tuple[str, ...]:
    """Say what a relation rests on, one text for each source.

    Args:
        relation: Any.
        said: Its evidence, of what the caller may see; without it the sources that the relation
            names are told.
        teams: What to call a team, by primary key.

    Example:
        >>> counts = {"successes": 7.0, "failures": 1.0}
        >>> grounds(Relation(1, 2, Kind.PRECEDES, 0.8, sources=(Source.OBSERVED,), detail=counts))
        ('seen in 7 of 8 runs',)
    """
    if said:
        return tuple(_ground(relation.kind, item, teams) for item in said)
    return tuple(_named(relation, source) for source in relation.sources)


def data_flow(fields: Iterable[Mapping[str, Any]]) -> str:
    """Say which output feeds which parameter.

    Args:
        fields: Each with JSON pointers `output` and `input`; no `output` where it is not known.

    Example:
        >>> data_flow([{"output": "/items/*/id", "input": "/geoId"}])
        'its output /items/*/id feeds the parameter geoId'
    """
    pairs = [(field.get("output"), field.get("input", "")) for field in fields]
    shown = [
        ("its result" if output is None else f"its output {output or '(whole)'}")
        + f" feeds the parameter {_parameter(taken)}"
        for output, taken in pairs[:MAX_FIELDS]
    ]
    if len(pairs) > MAX_FIELDS:
        shown.append(f"{len(pairs) - MAX_FIELDS} more")
    return ", ".join(shown)


def _detail(relation: Relation) -> str:
    detail = relation.detail
    if relation.kind is Kind.PROVIDES and detail.get("fields"):
        return f": {data_flow(detail['fields'])}"
    if relation.kind is Kind.PRECEDES and detail.get("seconds") is not None:
        return f", by {detail['seconds']:.3g} s on average"
    text = ""
    if relation.kind is Kind.REPLACES:
        text = f" since version {detail['version']}" if detail.get("version") else ""
        if detail.get("deprecated_at"):
            text += f" (deprecated on {detail['deprecated_at']})"
    return text + (f": {detail['reason']}" if detail.get("reason") else "")


def _named(relation: Relation, source: Source) -> str:
    if source is Source.OBSERVED:
        counts = relation.detail
        return counted(relation.kind, counts.get("successes", 0.0), counts.get("failures", 0.0))
    return _UNSIGNED[source]


def _ground(kind: Kind, said: Said, teams: Callable[[int], str]) -> str:
    if said.source is Source.OBSERVED:
        by = "" if said.team is None else f" by {teams(said.team)}"
        return counted(kind, said.successes, said.failures, by=by)
    if said.team is not None:
        return f"derived from results that {teams(said.team)} saw"
    if said.origin == SHIPPED:
        return "comes with Foregate"
    signed = f" {_PREPOSITIONS[said.source]} {said.origin}" if said.origin else ""
    return said.source.value + signed if signed else _UNSIGNED[said.source]


def counted(kind: Kind, successes: float, failures: float, *, by: str = "") -> str:
    """Say how often a relation held; counts that have decayed are rounded and said to be so.

    Args:
        kind: Of the relation.
        successes: Times it held.
        failures: Times it did not.
        by: Who saw it, such as " by team blue".

    Example:
        >>> counted(Kind.OFTEN_USED_WITH, 6.7, 1.2), counted(Kind.PRECEDES, 1.0, 0.0)
        ('used together in about 7 of 8 runs', 'seen in 1 of 1 run')
    """
    held, runs = round(successes), round(successes + failures)
    off = max(abs(held - successes), abs(runs - successes - failures))
    seen = "used together" if kind is Kind.OFTEN_USED_WITH else "seen"
    if runs < 1:
        return f"{seen}{by} long ago"
    about = "about " if off > ROUNDED_AWAY else ""
    return f"{seen}{by} in {about}{held} of {runs} run{'s' if runs > 1 else ''}"


def _parameter(pointer: str) -> str:
    """Write a JSON pointer as a parameter's path: `/filter/ids/*` is `filter.ids.*`."""
    parts = pointer.lstrip("/").split("/")
    return ".".join(canonical.unescape(part) for part in parts)
