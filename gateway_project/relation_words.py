"""What relations say of a found tool, in as few words as serve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final

from gateway_project.foreign_text import told
from gateway_project.sight import Sight
from graph import wording
from graph.enhance.found import About, Entry, Remark
from graph.enhance.related import leading
from graph.relations import NO_DETAIL, Kind, Relation, is_guess
from graph.topology import Topology

MAX_NAMED: Final = 3
MAX_WARNINGS: Final = 5
"""Of one tool, and of a whole answer."""
MAX_VERSION: Final = 40

# From the tool in question to the one named: where the relation starts from it, and where it ends.
PHRASES: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.DEPENDS_ON: ("requires {}", "is required by {}"),
    Kind.PRECEDES: ("comes before {}", "comes after {}"),
    Kind.PROVIDES: ("provides input for {}", "takes input from {}"),
    Kind.OFTEN_USED_WITH: ("is often used with {}",) * 2,
    Kind.ALTERNATIVE_TO: ("is an alternative to {}",) * 2,
    Kind.REPLACES: ("replaces {}", "is replaced by {}"),
    Kind.MUTUALLY_EXCLUSIVE: ("must not be used together with {}",) * 2,
    Kind.VALIDATES: ("checks the work of {}", "can be checked with {}"),
    Kind.OPTIMIZES: ("optimizes {}", "is optimized by {}"),
}
_OPTIONAL: Final = ("can use {} first", "can be used before {}")


def says(relation: Relation, tool: int, sight: Sight) -> str:
    """Say how a tool relates to another, such as "comes after git:git_add".

    Args:
        relation: From the tool or to it.
        tool: Its primary key.
        sight: What the caller may see.
    """
    is_optional = relation.kind is Kind.DEPENDS_ON and not relation.required
    starts, ends = _OPTIONAL if is_optional else PHRASES[relation.kind]
    if relation.source == tool:
        return starts.format(sight.name(relation.target))
    return ends.format(sight.name(relation.source))


def reason(entry: Entry, topology: Topology, sight: Sight) -> str:
    """Say how a tool comes into an answer; empty for a match, which has reasons of its own."""
    if entry.role == "match":
        return ""
    if entry.role == "required":
        return f"required by {sight.name(entry.path[-2])}"
    steps = [(tool, _step(topology, tool, other)) for tool, other in pairwise(entry.path[::-1])]
    words = ", which ".join(says(relation, tool, sight) for tool, relation in steps)
    return f"{words} ({math.prod(relation.confidence for _, relation in steps):.2f})"


def _step(topology: Topology, tool: int, other: int) -> Relation:
    """Return the surest relation that leads to a tool; what servers alone say comes last."""
    known = leading(topology, other, tool)
    return min(known, key=lambda relation: (is_guess(relation), -relation.confidence))


def warnings(remarks: Iterable[Remark], sight: Sight) -> tuple[str, ...]:
    """Put the remarks on a tool into words, as far as the caller may know what they are about."""
    texts = dict.fromkeys(warning(remark, sight) for remark in remarks)
    return few([text for text in texts if text])


def few(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the first of some warnings, and how many there are beside."""
    more = len(texts) - MAX_WARNINGS
    return (*texts[:MAX_WARNINGS], *((f"and {more} more of this kind",) if more > 0 else ()))


def warning(remark: Remark, sight: Sight) -> str:
    """Put a remark into words; empty where it would tell of a tool the caller must not know."""
    other = sight.tool(remark.other)
    if other is None:
        return ""
    obstacle = sight.obstacle(other)
    aside = f", which {obstacle}" if obstacle else ""
    detail = remark.relation.detail
    if remark.about is About.LACKS:
        return f"requires {other.tool}{aside}"
    if remark.about is About.EXCLUDES:
        why = f": {told(detail['reason'])}" if detail.get("reason") else ""
        return f"must not be used together with {other.tool}{why}"
    version, at = (
        told(detail[key], most=MAX_VERSION) if detail.get(key) else ""
        for key in ("version", "deprecated_at")
    )
    since = f" since {version}" if version else ""
    return f"replaced by {other.tool}{since}{f' ({at})' if at else ''}{aside}"


def beyond_budget(left_out: Iterable[Entry], sight: Sight) -> str:
    """Name what a match requires and the token budget had no place for; empty if all fits."""
    every = tuple(left_out)
    if not every:
        return ""
    named = ", ".join(sight.name(entry.tool) for entry in every[:MAX_NAMED])
    more = f" and {len(every) - MAX_NAMED} more" if len(every) > MAX_NAMED else ""
    return f"requires too, beyond the token budget: {named}{more}"


def cut(relations: Iterable[Relation], sight: Sight) -> tuple[str, ...]:
    """Say which dependencies an order goes against, because they are on a cycle."""
    bare = (relation._replace(detail=NO_DETAIL) for relation in relations)
    said = (wording.sentence(relation, sight.name) for relation in bare)
    return few(
        [
            f"tools require each other in a circle; the order ignores that {sentence}"
            for sentence in said
        ]
    )


def trouble(reason: str, instead_of_it: Iterable[str]) -> str:
    """Say that a tool's server is in trouble, and what may do instead."""
    named = ", ".join(islice(instead_of_it, MAX_NAMED))
    return f"its server is in trouble: {reason}" + (f"; instead: {named}" if named else "")
