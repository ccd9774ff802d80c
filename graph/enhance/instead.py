"""What may do instead of a tool, and what has taken its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from graph.relations import Kind, Relation
from graph.topology import Topology


class Alternative(NamedTuple):
    """A tool that may do instead of another, and what says so."""

    tool: int
    relation: Relation


def alternatives(
    topology: Topology, tool: int, *, usable: Callable[[int], bool]
) -> tuple[Alternative, ...]:
    """Return what supersedes a tool, then its alternatives; the more confident first.

    Args:
        topology: Where to look.
        tool: Its primary key.
        usable: Whether a tool may be used.
    """
    found: dict[int, Alternative] = {}
    for relation in replacements(topology, tool):
        found.setdefault(relation.source, Alternative(relation.source, relation))
    for relation in strongest(topology.outgoing(tool, Kind.ALTERNATIVE_TO)):
        other = relation.target if relation.source == tool else relation.source
        found.setdefault(other, Alternative(other, relation))
    return tuple(one for other, one in found.items() if other != tool and usable(other))


def replacements(topology: Topology, tool: int) -> list[Relation]:
    """Return the relations that say a tool is superseded, the more confident first."""
    return strongest(topology.incoming(tool, Kind.REPLACES))


def strongest(relations: Iterable[Relation]) -> list[Relation]:
    """Sort relations by confidence, then by the tools they join."""
    return sorted(relations, key=lambda r: (-r.confidence, r.source, r.target))
