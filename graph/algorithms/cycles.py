"""Cycles: strongly connected components, and which relations to drop so that none are left."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from graph.relations import Relation, is_binding

MAX_CLOSED: Final = 500
"""Nodes up to which a graph keeps what each of them reaches."""


class Broken(NamedTuple):
    """Relations without cycles, and those that were dropped for it."""

    kept: tuple[Relation, ...]
    cut: tuple[Relation, ...]


def strongly_connected(
    nodes: Iterable[int], successors: Callable[[int], Iterable[int]]
) -> Iterator[list[int]]:
    """Yield the strongly connected components, those that others lead to first.

    O(nodes + arcs), without recursion.

    Args:
        nodes: Where to begin; what they lead to is found.
        successors: Where the arcs of a node lead.

    References:
        Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972).
    """
    search = _DepthFirst(successors)
    for root in nodes:
        if root not in search.index:
            yield from search.components(root)


class _DepthFirst:
    """Tarjan's search: when each node was found, and the earliest open one it leads back to."""

    def __init__(self, successors: Callable[[int], Iterable[int]]) -> None:
        self.index: dict[int, int] = {}
        self._successors = successors
        self._lowest: dict[int, int] = {}
        self._open: dict[int, None] = {}
        self._trail: list[tuple[int, Iterator[int]]] = []

    def components(self, root: int) -> Iterator[list[int]]:
        self._enter(root)
        while self._trail:
            node, ahead = self._trail[-1]
            if self._descend(node, ahead):
                continue
            self._trail.pop()
            if self._trail:
                parent = self._trail[-1][0]
                self._lowest[parent] = min(self._lowest[parent], self._lowest[node])
            if self._lowest[node] == self.index[node]:
                yield self._close(node)

    def _enter(self, node: int) -> None:
        self.index[node] = self._lowest[node] = len(self.index)
        self._open[node] = None
        self._trail.append((node, iter(self._successors(node))))

    def _descend(self, node: int, ahead: Iterator[int]) -> bool:
        """Enter the next node that was not found yet; say whether there is one."""
        for other in ahead:
            if other not in self.index:
                self._enter(other)
                return True
            if other in self._open:
                self._lowest[node] = min(self._lowest[node], self.index[other])
        return False

    def _close(self, root: int) -> list[int]:
        """Take the nodes of a component, down to its root, from the open ones."""
        component = []
        while True:
            node, _ = self._open.popitem()
            component.append(node)
            if node == root:
                return component


def cyclic(relations: Iterable[Relation]) -> list[list[int]]:
    """Return the tools that relations lead around in circles, by strongly connected component.

    Larger components first; the tools of each in the order of their keys.
    """
    ahead: dict[int, list[int]] = {}
    loops = set()
    for relation in relations:
        ahead.setdefault(relation.source, []).append(relation.target)
        if relation.source == relation.target:
            loops.add(relation.source)
    found = strongly_connected(list(ahead), lambda node: ahead.get(node, ()))
    circles = [sorted(nodes) for nodes in found if len(nodes) > 1 or nodes[0] in loops]
    return sorted(circles, key=lambda nodes: (-len(nodes), nodes[0]))


def break_cycles(relations: Iterable[Relation]) -> Broken:
    """Drop the weakest relations so that no cycle is left.

    Inside each strongly connected component the relations are taken up again, strongest first,
    but for those that would close a cycle. So each relation dropped is the weakest of a cycle
    whose others are kept, and none could be taken back. What does not bind is weaker than any
    dependency that does, then what is less confident, then what has the larger keys.

    Example:
        >>> from graph.relations import Kind
        >>> there = Relation(1, 2, Kind.DEPENDS_ON, 0.9)
        >>> back = Relation(2, 1, Kind.DEPENDS_ON, 0.4)
        >>> [relation.confidence for relation in break_cycles([back, there]).cut]
        [0.4]
    """
    every = list(relations)
    component = {node: number for number, nodes in enumerate(cyclic(every)) for node in nodes}
    inside = [
        relation
        for relation in every
        if relation.source in component
        and component[relation.source] == component.get(relation.target)
    ]
    order = acyclic(component)
    cut = {
        relation.key: relation
        for relation in strongest_first(inside)
        if not order.add(relation.source, relation.target)
    }
    return Broken(
        kept=tuple(relation for relation in every if relation.key not in cut),
        cut=tuple(cut.values()),
    )


def strongest_first(relations: Iterable[Relation]) -> list[Relation]:
    """Sort relations: dependencies that bind first, then by confidence, then by keys."""
    return sorted(relations, key=lambda r: (not is_binding(r), -r.confidence, r[0], r[1]))


class Acyclic(Protocol):
    """A graph that takes an arc only if it closes no cycle."""

    @property
    def arcs(self) -> Mapping[int, Sequence[int]]:
        """Where the arcs taken so far lead, by where they start from."""

    def add(self, first: int, then: int) -> bool:
        """Take an arc between two of the nodes; say whether that was possible."""


def acyclic(nodes: Collection[int]) -> Acyclic:
    """Return a graph without arcs, kept in the way that suits its size."""
    return Closed(nodes) if len(nodes) <= MAX_CLOSED else Ordered(nodes)


class Closed:
    """Keeps what each node reaches, as bits of an integer; best for few nodes with many arcs.

    An arc that closes a cycle, or says nothing new, costs O(1). All others together set each of
    the nodes^2 bits once: O(nodes^3 / 64).
    """

    def __init__(self, nodes: Iterable[int]) -> None:
        self._nodes = tuple(dict.fromkeys(nodes))
        self._number = {node: number for number, node in enumerate(self._nodes)}
        self._after = [1 << number for number in range(len(self._nodes))]
        self._before = list(self._after)
        self._arcs: dict[int, list[int]] = {}

    @property
    def arcs(self) -> Mapping[int, Sequence[int]]:
        """Where the arcs taken so far lead, by where they start from."""
        return self._arcs

    def add(self, first: int, then: int) -> bool:
        """Take an arc between two of the nodes; say whether that was possible."""
        start, end = self._number[first], self._number[then]
        if self._after[end] >> start & 1:
            return False
        if not self._after[start] >> end & 1:
            after, before = self._after[end], self._before[start]
            gain, gained = before & ~self._before[end], after & ~self._after[start]
            for number in _bits(gain):
                self._after[number] |= after
            for number in _bits(gained):
                self._before[number] |= before
        self._arcs.setdefault(first, []).append(then)
        return True


def _bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Ordered:
    """Keeps a topological order; best for many nodes with few arcs.

    An arc against the order costs a search between the places of its ends.

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
        """Where the arcs taken so far lead, by where they start from."""
        return self._ahead

    def add(self, first: int, then: int) -> bool:
        """Take an arc between two of the nodes; say whether that was possible."""
        low, high = self._place[then], self._place[first]
        if low == high:
            return False
        if low < high:
            after = self._reached(then, self._ahead, lambda place: place <= high)
            if first in after:
                return False
            before = self._reached(first, self._behind, lambda place: place >= low)
            self._swap(before, after)
        self._ahead.setdefault(first, []).append(then)
        self._behind.setdefault(then, []).append(first)
        return True

    def _reached(
        self, start: int, arcs: Mapping[int, list[int]], is_within: Callable[[int], bool]
    ) -> set[int]:
        found, waiting = {start}, [start]
        while waiting:
            for other in arcs.get(waiting.pop(), ()):
                if other not in found and is_within(self._place[other]):
                    found.add(other)
                    waiting.append(other)
        return found

    def _swap(self, before: set[int], after: set[int]) -> None:
        """Give the places of both sets to the first one and then to the other."""
        place = self._place
        moved = [*sorted(before, key=place.__getitem__), *sorted(after, key=place.__getitem__)]
        for node, free in zip(moved, sorted(place[node] for node in moved), strict=True):
            place[node] = free


def topological_order(nodes: Iterable[int], arcs: Mapping[int, Iterable[int]]) -> list[int]:
    """Order nodes so that every arc leads forward; where it is free, as they were given.

    O(nodes log nodes + arcs).

    Args:
        nodes: Each once; the first one that is free always comes first.
        arcs: Where the arcs of a node lead, all of them inside `nodes`.

    Raises:
        ValueError: If the arcs have a cycle.

    References:
        Kahn, Topological sorting of large networks, CACM 5 (1962).
    """
    given = list(nodes)
    place = {node: number for number, node in enumerate(given)}
    awaited = dict.fromkeys(given, 0)
    for node in given:
        for other in arcs.get(node, ()):
            awaited[other] += 1
    free = [place[node] for node in given if not awaited[node]]
    ordered = []
    while free:
        node = given[heapq.heappop(free)]
        ordered.append(node)
        for other in arcs.get(node, ()):
            awaited[other] -= 1
            if not awaited[other]:
                heapq.heappush(free, place[other])
    if len(ordered) < len(given):
        raise ValueError("these arcs have a cycle: break it first")
    return ordered
