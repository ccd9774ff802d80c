"""Find relations that contradict each other, and dependency cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graph.algorithms import cycles
from graph.relations import Relation, RelationKey, RelationKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """Two relations of which at most one can hold.

    Attributes:
        message: Says what is wrong and what to do.
    """

    first: Relation
    second: Relation
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenCycle:
    """A dependency left out of every order because other dependencies close a cycle with it.

    Attributes:
        message: Says what is dropped and what to do.
    """

    dropped_relation: Relation
    message: str


def find_contradictions(
    relations: Iterable[Relation], *, name: Callable[[int], str] = "tool {}".format
) -> tuple[Contradiction, ...]:
    """Find relations that cannot all hold; O(relations).

    These are: a relation of a tool with itself; a tool that requires one it excludes; and two
    tools that replace each other.

    Example:
        >>> both = [Relation(1, 2, RelationKind.REPLACES, 1.0), Relation(2, 1,
        ...     RelationKind.REPLACES, 1.0)]
        >>> [found.message for found in find_contradictions(both)]
        ['tool 1 and tool 2 cannot replace each other: keep one of the two']
    """
    by_key: dict[RelationKey, Relation] = {}
    excluded: dict[frozenset[int], Relation] = {}
    found = []
    for relation in relations:
        if relation.source == relation.target:
            message = f"{name(relation.source)} cannot relate to itself: name two tools"
            found.append(Contradiction(first=relation, second=relation, message=message))
        else:
            by_key[relation.key] = relation
            if relation.kind.traits.effect == "exclusion":
                excluded[frozenset(relation.key[:2])] = relation
    for relation in by_key.values():
        source, target, kind = relation.key
        if kind.traits.effect == "replacement" and source < target:
            second = by_key.get((target, source, kind))
            message = f"{name(source)} and {name(target)} cannot replace each other: "
        elif kind is RelationKind.DEPENDS_ON and relation.required:
            second = excluded.get(frozenset((source, target)))
            message = f"{name(source)} cannot both require {name(target)} and exclude it: "
        else:
            continue
        if second is not None:
            message += "keep one of the two"
            found.append(Contradiction(first=relation, second=second, message=message))
    return tuple(found)


def find_broken_cycles(
    relations: Iterable[Relation], *, name: Callable[[int], str] = "tool {}".format
) -> tuple[BrokenCycle, ...]:
    """Find the dependency to drop from each cycle; cycles are allowed.

    It is the weakest of the cycle, the same one that every ordering drops.
    """
    return tuple(
        BrokenCycle(
            dropped_relation=dropped,
            message=f"{name(dropped.source)} depends on {name(dropped.target)}, which depends "
            f"on it in turn: this weakest dependency of the cycle ({dropped.confidence:.2g}) is "
            "dropped wherever an order is made",
        )
        for dropped in dropped_dependencies(relations)
    )


def dropped_dependencies(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the dependencies that every ordering drops: the weakest of each cycle.

    Args:
        relations: Of any kinds; only `depends_on` counts.
    """
    depends = (relation for relation in relations if relation.kind is RelationKind.DEPENDS_ON)
    return cycles.break_cycles(depends).dropped_relations
