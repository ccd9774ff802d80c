"""In which order the tools of an answer can run, as far as relations say anything of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from graph.algorithms.expand import LEAST
from graph.algorithms.run_order import RunOrder, run_order
from graph.enhance.related import SURE
from graph.relations import Kind, Relation, is_binding, is_guess
from graph.topology import Topology

RIVALS: Final = frozenset({Kind.MUTUALLY_EXCLUSIVE, Kind.REPLACES, Kind.ALTERNATIVE_TO})
"""Kinds of which one of the two tools is enough, or all that may be."""
_NONE: Final = RunOrder(tools=(), cut=(), is_constrained=False)

Arcs = Mapping[int, Iterable[int]]


def course(topology: Topology, listed: Sequence[int]) -> RunOrder:
    """Order those tools of an answer that relations put into an order.

    These are all that depend on another listed tool, with what they depend on; and what comes
    before the best match or after it, directly or by way of others. What servers alone say of
    that must be sure. What checks a tool comes after it, but does not lead to the other tools that
    it checks too. Of tools that exclude or replace each other or are alternatives, the one that
    stands higher is meant, with all that it requires.

    Args:
        topology: Relations as the caller sees them.
        listed: Tools as they are shown; the best match first.

    Returns:
        At least two tools, each after what it depends on; none where nothing orders any.

    Example:
        >>> topology = Topology([Relation(2, 1, Kind.PRECEDES, 0.9),
        ...                      Relation(4, 3, Kind.PRECEDES, 0.9)])
        >>> course(topology, [1, 2, 3, 4]).tools
        (2, 1)
    """
    among = list(topology.among(listed))
    meant = _meant(among, listed)
    depending, before, after = _arcs(among, meant)
    part = {*depending}
    if listed:
        joined = _reached(listed[0], before) | _reached(listed[0], after)
        part |= joined if len(joined) > 1 else set()
    order = run_order(topology, [tool for tool in listed if tool in part])
    return order if order.is_constrained else _NONE


def _arcs(among: Iterable[Relation], meant: Mapping[int, object]) -> tuple[set[int], Arcs, Arcs]:
    """Return what depends or is depended on; and what comes right before and after each tool."""
    depending: set[int] = set()
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for relation in among:
        source, target = relation.source, relation.target
        if source == target or source not in meant or target not in meant:
            continue
        if relation.kind is Kind.DEPENDS_ON:
            depending |= {source, target}
        elif relation.confidence < (SURE if is_guess(relation) else LEAST):
            continue
        elif relation.kind is Kind.VALIDATES:
            after.setdefault(target, []).append(source)
        elif relation.kind in (Kind.PRECEDES, Kind.PROVIDES):
            after.setdefault(source, []).append(target)
            before.setdefault(target, []).append(source)
    return depending, before, after


def _meant(among: Sequence[Relation], listed: Sequence[int]) -> dict[int, None]:
    """Leave out what a tool above rivals, and what requires such a tool."""
    needs: dict[int, list[int]] = {}
    rivals: dict[int, set[int]] = {}
    for relation in among:
        if is_binding(relation):
            needs.setdefault(relation.source, []).append(relation.target)
        elif relation.kind in RIVALS:
            rivals.setdefault(relation.source, set()).add(relation.target)
            rivals.setdefault(relation.target, set()).add(relation.source)
    if not rivals:
        return dict.fromkeys(listed)
    meant: dict[int, None] = {}
    for tool in listed:
        together = _reached(tool, needs) if tool not in meant else set()
        if not any(other in meant for one in together for other in rivals.get(one, ())):
            meant |= dict.fromkeys(together)
    return meant


def _reached(start: int, arcs: Arcs) -> set[int]:
    """Return a tool and all that arcs lead to from it."""
    return {start, *_walk(start, arcs)}


def _walk(start: int, arcs: Arcs) -> Iterator[int]:
    done, waiting = {start}, deque([start])
    while waiting:
        for other in arcs.get(waiting.popleft(), ()):
            if other not in done:
                done.add(other)
                waiting.append(other)
                yield other
