"""What relations say of a found tool, in as few words as serve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice, pairwise
from typing import Any, Final

from gateway_project import tool_card
from gateway_project.sight import Sight
from graph import wording
from graph.enhance import instead
from graph.enhance.found import About, Entry, Remark
from graph.relations import SYMMETRIC, Kind, Relation
from graph.topology import Topology
from tools.catalogue import CatalogueTool

MAX_NAMED: Final = 3
MAX_RELATIONS: Final = 20
"""Relations of a described tool; a hub may have thousands."""
_TOLD: Final = ("reason", "version", "deprecated_at", "fields", "seconds", "successes", "failures")
_DIGITS: Final = 2

# From the related tool to the one named: where the relation starts from it, and where it ends.
_PHRASES: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.DEPENDS_ON: ("requires {}", "is required by {}"),
    Kind.PRECEDES: ("comes before {}", "comes after {}"),
    Kind.PROVIDES: ("its output feeds {}", "takes an output of {}"),
    Kind.OFTEN_USED_WITH: ("is often used with {}", "is often used with {}"),
    Kind.VALIDATES: ("checks {}", "is checked by {}"),
}
_OPTIONAL: Final = ("can use {} first", "is of use before {}")


def reason(entry: Entry, topology: Topology, sight: Sight) -> str:
    """Say how a tool comes into an answer; empty for a match, which has reasons of its own."""
    if entry.role == "match":
        return ""
    if entry.role == "required":
        return f"required by {sight.name(entry.path[-2])}"
    steps = [_step(topology, one, other, sight) for one, other in pairwise(entry.path[::-1])]
    return f"{', which '.join(steps)} ({entry.confidence:.2f})"


def _step(topology: Topology, tool: int, other: int, sight: Sight) -> str:
    known = [relation for relation in topology.between(tool, other) if relation.kind in _PHRASES]
    best = max(known, key=lambda relation: relation.confidence)
    phrases = _PHRASES[best.kind]
    if best.kind is Kind.DEPENDS_ON and not best.required:
        phrases = _OPTIONAL
    return phrases[best.source != tool].format(sight.name(other))


def warning(remark: Remark, sight: Sight) -> str:
    """Put a remark into words; empty where it would tell of a tool the caller must not know."""
    other = sight.tool(remark.other)
    if other is None:
        return "requires a tool that you cannot use" if remark.about is About.LACKS else ""
    obstacle = sight.obstacle(other)
    aside = f", which {obstacle}" if obstacle else ""
    detail = remark.relation.detail
    if remark.about is About.LACKS:
        return f"requires {other.tool}{aside}"
    if remark.about is About.EXCLUDES:
        why = f": {tool_card.clean(detail['reason'])}" if detail.get("reason") else ""
        return f"must not be used together with {other.tool}{why}"
    since = f" since {tool_card.clean(detail['version'])}" if detail.get("version") else ""
    on = f" ({detail['deprecated_at']})" if detail.get("deprecated_at") else ""
    return f"replaced by {other.tool}{since}{on}{aside}"


def beyond_budget(left_out: Iterable[Entry], sight: Sight) -> str:
    """Name what a match requires and the token budget had no place for."""
    named = ", ".join(sight.name(entry.tool) for entry in left_out)
    return f"requires too, beyond the token budget: {named}"


def cut(relations: Iterable[Relation], sight: Sight) -> tuple[str, ...]:
    """Say which dependencies an order goes against, because they are on a cycle."""
    said = [tool_card.clean(wording.sentence(relation, sight.name)) for relation in relations]
    return tuple(
        f"tools require each other in a circle; the order ignores that {sentence}"
        for sentence in said
    )


def trouble(reason: str, instead_of_it: Iterable[str]) -> str:
    """Say that a tool's server is in trouble, and what may do instead."""
    named = ", ".join(islice(instead_of_it, MAX_NAMED))
    return f"its server is in trouble: {reason}" + (f"; instead: {named}" if named else "")


def alternatives(
    tool: CatalogueTool, topology: Topology, sight: Sight, *, troubled: Callable[[str], object]
) -> tuple[str, ...]:
    """Return the ids of tools that may do instead, those of servers in trouble last.

    What supersedes it comes first, then alternatives, then its namesakes on other servers.

    Args:
        tool: Which is to be replaced.
        topology: Relations as the caller sees them.
        sight: What the caller may see.
        troubled: Why a server cannot be relied on, by name; empty if it can.
    """
    related = instead.alternatives(topology, tool.pk, usable=sight.usable)
    found = [other for one in related if (other := sight.tool(one.tool)) is not None]
    found += [other for other in sight.namesakes(tool) if sight.usable(other.pk)]
    kept = {other.tool: other for other in found}.values()
    return tuple(other.tool for other in sorted(kept, key=lambda o: bool(troubled(o.server))))


def relations(tool: CatalogueTool, topology: Topology, sight: Sight) -> list[dict[str, Any]]:
    """Return what is known of a tool's relations to tools the caller may know; strongest first."""
    rows = []
    for relation in sorted(topology.of(tool.pk), key=_strength):
        other = sight.tool(relation.target if relation.source == tool.pk else relation.source)
        if other is not None:
            rows.append(_row(relation, tool, other))
        if len(rows) == MAX_RELATIONS:
            break
    return rows


def _strength(relation: Relation) -> tuple[float, str, int, int]:
    return (-relation.confidence, relation.kind, relation.source, relation.target)


def _row(relation: Relation, tool: CatalogueTool, other: CatalogueTool) -> dict[str, Any]:
    way = "from" if relation.source == tool.pk else "to"
    row: dict[str, Any] = {
        "kind": relation.kind.value,
        "direction": "both" if relation.kind in SYMMETRIC else way,
        "tool": other.tool,
        "confidence": round(relation.confidence, _DIGITS),
        "sources": [source.value for source in relation.sources],
    }
    if relation.kind is Kind.DEPENDS_ON:
        row["required"] = relation.required
    for key in _TOLD:
        value = relation.detail.get(key)
        if value is not None:
            row[key] = round(value, 1) if isinstance(value, float) else value
    cleaned: dict[str, Any] = tool_card.clean_schema(row)
    return cleaned
