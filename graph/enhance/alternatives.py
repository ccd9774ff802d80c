"""Find alternatives and replacements of a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from graph.relations import Relation, select_kinds
from graph.topology import Topology

REPLACING_KINDS: Final = select_kinds("replacement")
_ALTERNATIVE_KINDS: Final = select_kinds("alternative")


class ToolAlternative(NamedTuple):
    """An alternative to a tool, and the relation that makes it one."""

    tool: int
    relation: Relation


def find_alternatives(
    topology: Topology, tool: int, *, usable: Callable[[int], bool]
) -> tuple[ToolAlternative, ...]:
    """Return a tool's replacements, then its alternatives, each by falling confidence."""
    found: dict[int, ToolAlternative] = {}
    for relation in find_replacements(topology, tool):
        found.setdefault(relation.source, ToolAlternative(relation.source, relation))
    for relation in sort_strongest(topology.incoming_relations(tool, *_ALTERNATIVE_KINDS)):
        other = relation.target if relation.source == tool else relation.source
        found.setdefault(other, ToolAlternative(other, relation))
    return tuple(item for other, item in found.items() if other != tool and usable(other))


def find_replacements(topology: Topology, tool: int) -> list[Relation]:
    """Return the relations that replace a tool, by falling confidence."""
    return sort_strongest(topology.incoming_relations(tool, *REPLACING_KINDS))


def sort_strongest(relations: Iterable[Relation]) -> list[Relation]:
    """Sort relations by falling confidence, then by source and target."""
    return sorted(relations, key=lambda r: (-r.confidence, r.source, r.target))
