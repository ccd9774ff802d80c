"""Find strongly connected components, and break cycles by dropping the weakest relations."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from graph.relations import Relation, is_binding_dependency

MAX_BITSET_NODES: Final = 500
"""Nodes up to which reachability is kept as bitsets."""


class CycleBreak(NamedTuple):
    """Relations without cycles, and those dropped to break them."""

    kept_relations: tuple[Relation, ...]
    dropped_relations: tuple[Relation, ...]


def iterate_components(
    nodes: Iterable[int], successors: Callable[[int], Iterable[int]]
) -> Iterator[list[int]]:
    """Yield the strongly connected components in reverse topological order.

    O(nodes + arcs), without recursion.

    References:
        Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972).
    """
    search = _TarjanSearch(successors)
    for root in nodes:
        if root not in search.index:
            yield from search.iterate_components(root)


class _TarjanSearch:
    """The state of Tarjan's algorithm: index and low link of each node, and the open nodes."""

    def __init__(self, successors: Callable[[int], Iterable[int]]) -> None:
        self.index: dict[int, int] = {}
        self._successors = successors
        self._lowest: dict[int, int] = {}
        self._open: dict[int, None] = {}
        self._trail: list[tuple[int, Iterator[int]]] = []

    def iterate_components(self, root: int) -> Iterator[list[int]]:
        self._enter_node(root)
        while self._trail:
            node, ahead = self._trail[-1]
            if self._descend_to_next(node, ahead):
                continue
            self._trail.pop()
            if self._trail:
                parent = self._trail[-1][0]
                self._lowest[parent] = min(self._lowest[parent], self._lowest[node])
            if self._lowest[node] == self.index[node]:
                yield self._pop_component(node)

    def _enter_node(self, node: int) -> None:
        self.index[node] = self._lowest[node] = len(self.index)
        self._open[node] = None
        self._trail.append((node, iter(self._successors(node))))

    def _descend_to_next(self, node: int, ahead: Iterator[int]) -> bool:
        """Enter the next unvisited successor; return whether there is one."""
        for other in ahead:
            if other not in self.index:
                self._enter_node(other)
                return True
            if other in self._open:
                self._lowest[node] = min(self._lowest[node], self.index[other])
        return False

    def _pop_component(self, root: int) -> list[int]:
        """Pop the nodes of a component, down to its root, off the open nodes."""
        component = []
        while True:
            node, _ = self._open.popitem()
            component.append(node)
            if node == root:
                return component


def find_cyclic_components(relations: Iterable[Relation]) -> list[list[int]]:
    """Return the strongly connected components with cycles.

    Larger components first; the tools of each sorted by primary key.
    """
    ahead: dict[int, list[int]] = {}
    loops = set()
    for relation in relations:
        ahead.setdefault(relation.source, []).append(relation.target)
        if relation.source == relation.target:
            loops.add(relation.source)
    components = iterate_components(list(ahead), lambda node: ahead.get(node, ()))
    cyclic = [sorted(nodes) for nodes in components if len(nodes) > 1 or nodes[0] in loops]
    return sorted(cyclic, key=lambda nodes: (-len(nodes), nodes[0]))


def break_cycles(relations: Iterable[Relation]) -> CycleBreak:
    """Drop the weakest relations so that no cycle is left.

    Inside each strongly connected component relations are added back, strongest first, except
    those that would close a cycle. So each dropped relation is the weakest of a cycle whose other
    relations are kept, and none could be added back. Strength: binding dependencies first, then
    by confidence, then by smaller keys.

    Example:
        >>> from graph.relations import RelationKind
        >>> there = Relation(1, 2, RelationKind.DEPENDS_ON, 0.9)
        >>> back = Relation(2, 1, RelationKind.DEPENDS_ON, 0.4)
        >>> [relation.confidence for relation in break_cycles([back, there]).dropped_relations]
        [0.4]
    """
    all_relations = list(relations)
    component = {
        node: number
        for number, nodes in enumerate(find_cyclic_components(all_relations))
        for node in nodes
    }
    cyclic = [
        relation
        for relation in all_relations
        if relation.source in component
        and component[relation.source] == component.get(relation.target)
    ]
    order = make_acyclic_graph(component)
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

    References:
        Kahn, Topological sorting of large networks, CACM 5 (1962).
    """
    given = list(nodes)
    place = {node: number for number, node in enumerate(given)}
    open_predecessors = dict.fromkeys(given, 0)
    for node in given:
        for other in arcs.get(node, ()):
            open_predecessors[other] += 1
    free = [place[node] for node in given if not open_predecessors[node]]
    ordered = []
    while free:
        node = given[heapq.heappop(free)]
        ordered.append(node)
        for other in arcs.get(node, ()):
            open_predecessors[other] -= 1
            if not open_predecessors[other]:
                heapq.heappush(free, place[other])
    if len(ordered) < len(given):
        raise ValueError("these arcs have a cycle: break it first")
    return ordered
