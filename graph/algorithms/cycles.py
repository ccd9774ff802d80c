"""Find and break cycles by dropping the weakest relations; sort and reduce what has none."""

from __future__ import annotations

import graphlib
import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from graph.relations import Relation, is_binding_dependency

MAX_BITSET_NODES: Final = 500
"""Nodes up to which reachability is kept as bitsets."""

Arc = tuple[int, int]


class CycleBreak(NamedTuple):
    """Relations without cycles, and those dropped to break them."""

    kept_relations: tuple[Relation, ...]
    dropped_relations: tuple[Relation, ...]


def find_cyclic_components(relations: Iterable[Relation]) -> list[list[int]]:
    """Return the strongly connected components with cycles; O(relations).

    Larger components first; the tools of each sorted by primary key.
    """
    arcs = [(relation.source, relation.target) for relation in relations]
    if not arcs:
        return []
    import numpy as np  # noqa: PLC0415 - heavy
    from scipy.sparse import csr_array  # noqa: PLC0415 - heavy
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - heavy

    nodes, (sources, targets) = np.unique(np.transpose(arcs), return_inverse=True)
    matrix = csr_array((np.ones(len(arcs)), (sources, targets)), shape=(len(nodes), len(nodes)))
    count, component = connected_components(matrix, connection="strong")
    is_within = component[sources] == component[targets]  # a tool alone: with itself
    cyclic = np.bincount(component[sources][is_within], minlength=count) > 0
    members: dict[int, list[int]] = defaultdict(list)
    for node, number in zip(nodes.tolist(), component.tolist(), strict=True):
        if cyclic[number]:
            members[number].append(node)
    return sorted(members.values(), key=lambda nodes: (-len(nodes), nodes[0]))


def break_cycles(relations: Iterable[Relation]) -> CycleBreak:
    """Drop the weakest relations so that no cycle is left.

    Relations are added one by one, strongest first, except those that would close a cycle. So
    each dropped relation is the weakest of a cycle whose other relations are kept, and none could
    be added back. Strength: binding dependencies first, then by confidence, then by smaller keys.

    Example:
        >>> from graph.relations import RelationKind
        >>> there = Relation(1, 2, RelationKind.DEPENDS_ON, 0.9)
        >>> back = Relation(2, 1, RelationKind.DEPENDS_ON, 0.4)
        >>> [relation.confidence for relation in break_cycles([back, there]).dropped_relations]
        [0.4]
    """
    cyclic = all_relations = list(relations)
    nodes: Collection[int] = {node for relation in all_relations for node in relation[:2]}
    if len(nodes) > MAX_BITSET_NODES:  # only relations within a component can close a cycle
        components = enumerate(find_cyclic_components(all_relations))
        component = {node: number for number, members in components for node in members}
        cyclic = [
            relation
            for relation in all_relations
            if relation.source in component
            and component[relation.source] == component.get(relation.target)
        ]
        nodes = component
    order = make_acyclic_graph(nodes)
    dropped = {
        relation.key: relation
        for relation in sort_strongest_first(cyclic)
        if not order.add_arc(relation.source, relation.target)
    }
    return CycleBreak(
        kept_relations=tuple(
            relation for relation in all_relations if relation.key not in dropped
        ),
        dropped_relations=tuple(dropped.values()),
    )


def sort_strongest_first(relations: Iterable[Relation]) -> list[Relation]:
    """Sort relations: binding dependencies first, then by falling confidence, then by keys."""
    return sorted(
        relations, key=lambda r: (not is_binding_dependency(r), -r.confidence, r[0], r[1])
    )


class AcyclicGraph(Protocol):
    """A graph that accepts an arc only if it closes no cycle."""

    @property
    def arcs(self) -> Mapping[int, Sequence[int]]:
        """The accepted arcs: targets by source."""

    def add_arc(self, source: int, target: int) -> bool:
        """Add an arc between two nodes unless it closes a cycle; return whether it was added."""


def make_acyclic_graph(nodes: Collection[int]) -> AcyclicGraph:
    """Return an empty graph, in the representation that suits its size."""
    return BitsetReachability(nodes) if len(nodes) <= MAX_BITSET_NODES else TopologicalOrder(nodes)


class BitsetReachability:
    """Keeps the nodes reachable from each node as a bitset; best for few nodes with many arcs.

    An arc that closes a cycle or is implied costs O(1). All others together set each of the
    nodes^2 bits once: O(nodes^3 / 64).
    """

    def __init__(self, nodes: Iterable[int]) -> None:
        self._nodes = tuple(dict.fromkeys(nodes))
        self._number = {node: number for number, node in enumerate(self._nodes)}
        self._after = [1 << number for number in range(len(self._nodes))]
        self._before = list(self._after)
        self._arcs: dict[int, list[int]] = {}

    @property
    def arcs(self) -> Mapping[int, Sequence[int]]:
        """The accepted arcs: targets by source."""
        return self._arcs

    def add_arc(self, source: int, target: int) -> bool:
        """Add an arc between two nodes unless it closes a cycle; return whether it was added."""
        start, end = self._number[source], self._number[target]
        if self._after[end] >> start & 1:
            return False
        if not self._after[start] >> end & 1:
            after, before = self._after[end], self._before[start]
            gain, gained = before & ~self._before[end], after & ~self._after[start]
            for number in _iterate_set_bits(gain):
                self._after[number] |= after
            for number in _iterate_set_bits(gained):
                self._before[number] |= before
        self._arcs.setdefault(source, []).append(target)
        return True


def _iterate_set_bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class TopologicalOrder:
    """Keeps a topological order; best for many nodes with few arcs.

    An arc against the order costs a search between the positions of its ends.

    References:
        Pearce and Kelly, A dynamic topological sort algorithm for directed acyclic graphs,
        ACM J. Exp. Algorithmics 11 (2006).
    """

    def __init__(self, nodes: Iterable[int]) -> None:
        self._place = {node: place for place, node in enumerate(dict.fromkeys(nodes))}
        self._ahead: dict[int, list[int]] = {}
        self._behind: dict[int, list[int]] = {}

    @property
    def arcs(self) -> Mapping[int, Sequence[int]]:
        """The accepted arcs: targets by source."""
        return self._ahead

    def add_arc(self, source: int, target: int) -> bool:
        """Add an arc between two nodes unless it closes a cycle; return whether it was added."""
        low, high = self._place[target], self._place[source]
        if low == high:
            return False
        if low < high:
            after = self._collect_reachable(target, self._ahead, lambda place: place <= high)
            if source in after:
                return False
            before = self._collect_reachable(source, self._behind, lambda place: place >= low)
            self._reorder_places(before, after)
        self._ahead.setdefault(source, []).append(target)
        self._behind.setdefault(target, []).append(source)
        return True

    def _collect_reachable(
        self, start: int, arcs: Mapping[int, list[int]], is_within: Callable[[int], bool]
    ) -> set[int]:
        found, waiting = {start}, [start]
        while waiting:
            for other in arcs.get(waiting.pop(), ()):
                if other not in found and is_within(self._place[other]):
                    found.add(other)
                    waiting.append(other)
        return found

    def _reorder_places(self, before: set[int], after: set[int]) -> None:
        """Redistribute the positions of both sets: first `before`, then `after`."""
        place = self._place
        moved = [*sorted(before, key=place.__getitem__), *sorted(after, key=place.__getitem__)]
        for node, free in zip(moved, sorted(place[node] for node in moved), strict=True):
            place[node] = free


def sort_topologically(nodes: Iterable[int], arcs: Mapping[int, Iterable[int]]) -> list[int]:
    """Sort nodes so that every arc leads forward; otherwise keep their given order.

    O(nodes log nodes + arcs).

    Args:
        nodes: Each once; among nodes without open predecessors the first given comes first.
        arcs: Successors of nodes, all of them in `nodes`.

    Raises:
        ValueError: If the arcs have a cycle.
    """
    given = list(nodes)
    place = {node: number for number, node in enumerate(given)}
    sorter = graphlib.TopologicalSorter(dict.fromkeys(given, ()))
    for node in given:
        for other in arcs.get(node, ()):
            sorter.add(other, node)
    sorter.prepare()
    free: list[int] = []
    ordered = []
    while sorter.is_active():
        for node in sorter.get_ready():
            heapq.heappush(free, place[node])
        ordered.append(given[heapq.heappop(free)])
        sorter.done(ordered[-1])
    return ordered


def reduce_transitively(arcs: Iterable[Arc]) -> list[Arc]:
    """Remove every arc that a longer path implies.

    An acyclic graph has exactly one such reduction. O(arcs * nodes / 64) time and
    nodes² / 8 bytes: for workflows, and graphs of some ten thousand nodes.

    Raises:
        ValueError: If the arcs have a cycle.

    References:
        Aho, Garey and Ullman, The transitive reduction of a directed graph, SIAM J. Comput. 1
        (1972).

    Example:
        >>> reduce_transitively([(1, 2), (2, 3), (1, 3)])
        [(1, 2), (2, 3)]
    """
    given = dict.fromkeys(arcs)
    ahead: dict[int, list[int]] = {}
    for source, target in given:
        ahead.setdefault(source, []).append(target)
    order = sort_topologically(dict.fromkeys(node for arc in given for node in arc), ahead)
    place = {node: number for number, node in enumerate(order)}
    reached: dict[int, int] = {}
    redundant = set()
    for node in reversed(order):
        reachable = 0
        for other in sorted(ahead.get(node, ()), key=place.__getitem__):
            if reachable >> place[other] & 1:
                redundant.add((node, other))
            reachable |= reached[other]
        reached[node] = reachable | 1 << place[node]
    return [arc for arc in given if arc not in redundant]
