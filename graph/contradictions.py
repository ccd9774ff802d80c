"""Relations that cannot all hold, and dependencies that lead round in circles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graph.algorithms import cycles
from graph.relations import SYMMETRIC, Kind, Relation


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """Two relations of which at most one can hold.

    Attributes:
        first: One of them.
        second: The other; the same one where it contradicts itself.
        message: What is wrong, in plain words, and what to do.
    """

    first: Relation
    second: Relation
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenCycle:
    """A dependency that is left out of every order, because others lead back from its target.

    Attributes:
        dropped: The weakest relation of a cycle.
        message: What is dropped, in plain words, and what to do.
    """

    dropped: Relation
    message: str


def contradictions(
    relations: Iterable[Relation], *, name: Callable[[int], str] = "tool {}".format
) -> tuple[Contradiction, ...]:
    """Find relations that cannot all hold; O(relations).

    These are a relation of a tool with itself; tools that exclude each other of which one
    requires the other; and tools of which each replaces the other.

    Args:
        relations: As they would be stored.
        name: Name of a tool by primary key, for the messages.

    Example:
        >>> both = [Relation(1, 2, Kind.REPLACES, 1.0), Relation(2, 1, Kind.REPLACES, 1.0)]
        >>> [found.message for found in contradictions(both)]
        ['tool 1 and tool 2 cannot replace each other: keep one of the two']
    """
    by_key = {}
    found = []
    for relation in relations:
        if relation.source == relation.target:
            message = f"{name(relation.source)} cannot relate to itself: name two tools"
            found.append(Contradiction(first=relation, second=relation, message=message))
        else:
            by_key[relation.key] = relation
    for relation in by_key.values():
        here, there = relation.source, relation.target
        if relation.kind is Kind.REPLACES and here < there:
            back = by_key.get((there, here, Kind.REPLACES))
            if back is not None:
                message = f"{name(here)} and {name(there)} cannot replace each other: " + _KEEP_ONE
                found.append(Contradiction(first=relation, second=back, message=message))
        elif relation.kind is Kind.DEPENDS_ON and relation.required:
            excluded = _either_way(by_key, here, there, Kind.MUTUALLY_EXCLUSIVE)
            if excluded is not None:
                message = f"{name(here)} cannot both require {name(there)} and exclude it: "
                found.append(
                    Contradiction(first=relation, second=excluded, message=message + _KEEP_ONE)
                )
    return tuple(found)


def broken_cycles(
    relations: Iterable[Relation], *, name: Callable[[int], str] = "tool {}".format
) -> tuple[BrokenCycle, ...]:
    """Find the dependencies that close a cycle, which is allowed, and say which are dropped.

    The same are dropped whenever an order is made: the weakest of each cycle.

    Args:
        relations: As they would be stored; only `depends_on` counts.
        name: Name of a tool by primary key, for the messages.
    """
    return tuple(
        BrokenCycle(
            dropped=cut,
            message=f"{name(cut.source)} depends on {name(cut.target)}, which depends on it in "
            f"turn: this weakest dependency of the cycle ({cut.confidence:.2g}) is dropped "
            "wherever an order is made",
        )
        for cut in dropped(relations)
    )


def dropped(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the dependencies that are left out of every order: the weakest of each cycle.

    Args:
        relations: Of any kinds; only `depends_on` counts.
    """
    depends = (relation for relation in relations if relation.kind is Kind.DEPENDS_ON)
    return cycles.break_cycles(depends).cut


_KEEP_ONE = "keep one of the two"


def _either_way(
    by_key: dict[tuple[int, int, Kind], Relation], one: int, other: int, kind: Kind
) -> Relation | None:
    found = by_key.get((one, other, kind))
    return found or by_key.get((other, one, kind)) if kind in SYMMETRIC else found
