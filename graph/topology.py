"""The in-memory graph of relations between tools, as the callers of one team see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation.garbage import pause_collection
from graph.relations import (
    PATH_KINDS,
    SYMMETRIC_KINDS,
    EvidenceSource,
    Relation,
    RelationKey,
    RelationKind,
    is_binding_dependency,
)

if TYPE_CHECKING:
    import numpy as np
    from networkx import MultiDiGraph
    from numpy.typing import NDArray

HeldRelations = Relation | list[Relation]
"""The relations from one tool to another: usually one, a list if there are several."""

_PATH_KINDS_ORDERED: Final = tuple(PATH_KINDS)  # enum members are slow to hash
_NO_ROW: Final[Mapping[int, HeldRelations]] = MappingProxyType({})
_NO_ARCS: Final[Mapping[int, float]] = MappingProxyType({})


def accept_every_tool(tool: int) -> bool:  # noqa: ARG001 - the default predicate
    """Accept every tool (the default predicate)."""
    return True


class Topology:
    """Relations by tool, kept current one relation at a time.

    Tools are primary keys; a tool without relations is not contained. Each relation is stored
    once, reachable from both its tools. The arcs that paths follow are merged per tool on first
    use and then kept current, so mappings handed out change with the topology. Not thread-safe:
    one event loop reads and writes it.
    """

    def __init__(self, relations: Iterable[Relation] = ()) -> None:
        self._from = _AdjacencyRows()
        self._to = _AdjacencyRows()
        interned: dict[int, int] = {}
        self._ahead = _BestArcs(self._from, self._to, interned)
        self._behind = _BestArcs(self._to, self._from, interned)
        self._around: dict[bool, dict[int, dict[int, float]]] = {True: {}, False: {}}
        self._size = 0
        self.successors: Callable[[int], Mapping[int, float]] = self._ahead.__getitem__
        """Return the successors of a tool on paths, with the best confidence of any path kind.

        `often_used_with` leads both ways. Relations of confidence 0 are left out.
        """
        self.predecessors: Callable[[int], Mapping[int, float]] = self._behind.__getitem__
        """Return the predecessors of a tool on paths, with the best confidence."""
        self._load_relations(relations)

    def put(self, relation: Relation) -> None:
        """Add a relation, or replace the one with the same key; O(1)."""
        held = _as_list(self._from[relation.source].get(relation.target))
        rest = [other for other in held if other.kind is not relation.kind]
        self._size += 1 + len(rest) - len(held)
        self._set_relations(relation.source, relation.target, [*rest, relation])

    def discard(self, key: RelationKey) -> None:
        """Remove a relation, if present; O(1)."""
        source, target, kind = key
        held = _as_list(self._from[source].get(target))
        rest = [other for other in held if other.kind is not kind]
        if len(rest) < len(held):
            self._size -= 1
            self._set_relations(source, target, rest)

    def get(self, source: int, target: int, kind: RelationKind) -> Relation | None:
        """Return a relation by its key; symmetric kinds match in either direction."""
        for relation in _as_list(self._from[source].get(target)):
            if relation.kind is kind:
                return relation
        if kind in SYMMETRIC_KINDS:
            for relation in _as_list(self._to[source].get(target)):
                if relation.kind is kind:
                    return relation
        return None

    def relations_of(self, tool: int) -> Iterator[Relation]:
        """Yield the relations from and to a tool."""
        for rows in (self._from, self._to):
            for held in rows[tool].values():
                yield from _as_list(held)

    def relations_between(self, one: int, other: int) -> Iterator[Relation]:
        """Yield the relations between two tools, in both directions."""
        yield from _as_list(self._from[one].get(other))
        yield from _as_list(self._to[one].get(other))

    def relations_among(self, tools: Iterable[int]) -> Iterator[Relation]:
        """Yield the relations whose source and target are both among the tools."""
        members = dict.fromkeys(tools)
        for tool in members:
            row = self._from[tool]
            for other in sorted(row.keys() & members.keys()):
                yield from _as_list(row[other])

    def outgoing_relations(self, tool: int, kind: RelationKind) -> Iterator[Relation]:
        """Yield the relations of a kind from a tool; for symmetric kinds, in both directions."""
        if kind in SYMMETRIC_KINDS:
            yield from (r for r in self.relations_of(tool) if r.kind is kind)
        else:
            yield from _iterate_kind(self._from[tool], kind)

    def incoming_relations(self, tool: int, kind: RelationKind) -> Iterator[Relation]:
        """Yield the relations of a kind to a tool; for symmetric kinds, in both directions."""
        if kind in SYMMETRIC_KINDS:
            yield from (r for r in self.relations_of(tool) if r.kind is kind)
        else:
            yield from _iterate_kind(self._to[tool], kind)

    def required_relations(self, tool: int) -> Iterator[Relation]:
        """Yield the binding `depends_on` relations of a tool."""
        for relation in _iterate_kind(self._from[tool], RelationKind.DEPENDS_ON):
            if is_binding_dependency(relation):
                yield relation

    def neighbours(self, tool: int, *, dependents: bool = True) -> Mapping[int, float]:
        """Return the neighbours of a tool on paths, in either direction, by falling confidence.

        Ties are in the order of primary keys.

        Args:
            tool: Primary key of the tool.
            dependents: Whether the tools that depend on it count as neighbours.
        """
        cache = self._around[dependents]
        cached = cache.get(tool)
        if cached is not None:
            return cached
        if tool not in self:
            return _NO_ARCS
        best = dict(self.successors(tool))
        for other, confidence in self.predecessors(tool).items():
            if confidence > best.get(other, 0.0):
                if not dependents:
                    arcs = [r for r in _as_list(self._to[tool].get(other)) if _is_forward_arc(r)]
                    confidences = (
                        r.confidence for r in arcs if r.kind is not RelationKind.DEPENDS_ON
                    )
                    confidence = max(confidences, default=0.0)
                best[other] = max(best.get(other, 0.0), confidence)
        best = {other: confidence for other, confidence in best.items() if confidence}
        ordered = dict(sorted(best.items(), key=lambda arc: (-arc[1], arc[0])))
        cache[tool] = ordered
        return ordered

    def iterate_relations(self) -> Iterator[Relation]:
        """Yield every relation."""
        for row in self._from.iterate_rows():
            for held in row.values():
                if isinstance(held, list):
                    yield from held
                else:
                    yield held

    def collect_tools(self) -> set[int]:
        """Return the tools that have relations."""
        return self._from.collect_tools() | self._to.collect_tools()

    def to_networkx(self) -> MultiDiGraph[int]:
        """Return a networkx graph with one edge per relation, keyed by its kind."""
        import networkx as nx

        graph = nx.MultiDiGraph()
        graph.add_edges_from(
            (
                relation.source,
                relation.target,
                relation.kind.value,
                {
                    "confidence": relation.confidence,
                    "required": relation.required,
                    "sources": relation.sources,
                    "detail": relation.detail,
                },
            )
            for relation in self.iterate_relations()
        )
        return graph

    @classmethod
    def from_networkx(cls, graph: MultiDiGraph[int]) -> Topology:
        """Return the topology of a graph of the form `to_networkx` returns.

        Raises:
            ValueError: If the key of an edge is not a kind of relation.
        """
        return cls(
            _relation_from_edge(source, target, key, attributes)
            for source, target, key, attributes in graph.edges(keys=True, data=True)
        )

    def __contains__(self, tool: int) -> bool:
        return tool in self._from or tool in self._to

    def __len__(self) -> int:
        """Return the number of relations."""
        return self._size

    def _load_relations(self, relations: Iterable[Relation]) -> None:
        """Load many relations; of those with the same key the last one wins."""
        with pause_collection():
            loaded = list(relations)
        if not loaded:
            return
        import numpy as np

        sources = np.fromiter(map(itemgetter(0), loaded), np.int64, len(loaded))
        targets = np.fromiter(map(itemgetter(1), loaded), np.int64, len(loaded))
        order = np.lexsort((targets, sources))
        is_same = (np.diff(sources[order]) == 0) & (np.diff(targets[order]) == 0)
        repeated = np.flatnonzero(is_same)
        shared_keys = [
            loaded[place].key for place in order[np.union1d(repeated, repeated + 1)].tolist()
        ]
        if len(set(shared_keys)) < len(shared_keys):
            self._load_relations({relation.key: relation for relation in loaded}.values())
            return
        self._from.load_relations(loaded, sources, order)
        self._to.load_relations(loaded, targets, np.argsort(targets, kind="stable"))
        self._size = len(loaded)

    def _set_relations(self, source: int, target: int, relations: list[Relation]) -> None:
        """Replace the relations from one tool to another, and update the arcs."""
        self._from.set_relations(source, target, relations)
        self._to.set_relations(target, source, relations)
        for start, end in ((source, target), (target, source)):
            self._ahead.refresh_arc(start, end)
            self._behind.refresh_arc(start, end)
            for cache in self._around.values():
                cache.pop(start, None)


class _AdjacencyRows(dict[int, Mapping[int, HeldRelations]]):
    """Relations by the tool at one end, then by the tool at the other.

    A bulk load only sorts them; the row of a tool is built on first access.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loaded: Sequence[Relation] = ()
        self._order: NDArray[np.int64] | None = None
        self._spans: dict[int, tuple[int, int]] = {}

    def load_relations(
        self, relations: Sequence[Relation], ends: NDArray[np.int64], order: NDArray[np.int64]
    ) -> None:
        """Load relations into empty rows.

        Args:
            relations: Each key once; n of them.
            ends: Shape (n,), int64; the tool whose row each relation belongs to.
            order: Shape (n,); indices that sort `ends`.
        """
        import numpy as np

        starts = np.flatnonzero(np.diff(ends[order], prepend=ends.min() - 1))
        bounds = pairwise([*starts.tolist(), len(relations)])
        self._spans = dict(zip(ends[order[starts]].tolist(), bounds, strict=True))
        self._loaded, self._order = relations, order

    def set_relations(self, start: int, end: int, relations: list[Relation]) -> None:
        """Replace the relations between two tools; an empty list removes them."""
        row = self[start]
        if not isinstance(row, dict):
            row = self[start] = {}
        if relations:
            row[end] = relations[0] if len(relations) == 1 else relations
            return
        del row[end]
        if not row:
            del self[start]

    def iterate_rows(self) -> Iterator[Mapping[int, HeldRelations]]:
        """Build all rows and return an iterator over them."""
        for tool in list(self._spans):
            self[tool]
        self._loaded, self._order = (), None
        return iter(self.values())

    def collect_tools(self) -> set[int]:
        """Return the tools that have a row."""
        return self.keys() | self._spans.keys()

    def __contains__(self, tool: object) -> bool:
        return tool in self._spans or super().__contains__(tool)

    def __missing__(self, tool: int) -> Mapping[int, HeldRelations]:
        span = self._spans.pop(tool, None)
        if span is None or self._order is None:
            return _NO_ROW
        row: dict[int, HeldRelations] = {}
        for place in self._order[slice(*span)].tolist():
            relation = self._loaded[place]
            other = relation.target if relation.source == tool else relation.source
            held = row.get(other)
            row[other] = relation if held is None else [*_as_list(held), relation]
        self[tool] = row
        return row


class _BestArcs(dict[int, dict[int, float]]):
    """The best confidence of any path relation from a tool to others, merged on first access.

    Equal keys are one interned object throughout, so that look-ups mostly compare pointers: that
    saves a third of the cost of a path search.
    """

    def __init__(
        self, along: _AdjacencyRows, against: _AdjacencyRows, interned: dict[int, int]
    ) -> None:
        super().__init__()
        self._along = along
        self._against = against
        self._interned = interned

    def __missing__(self, tool: int) -> Mapping[int, float]:
        if tool not in self._along and tool not in self._against:
            return _NO_ARCS
        interned = self._interned.setdefault
        best: dict[int, float] = {}
        for rows, counts in ((self._along, _is_forward_arc), (self._against, _is_backward_arc)):
            for other, held in rows[tool].items():
                for relation in _as_list(held):
                    if relation.confidence > best.get(other, 0.0) and counts(relation):
                        best[interned(other, other)] = relation.confidence
        self[interned(tool, tool)] = best
        return best

    def refresh_arc(self, start: int, end: int) -> None:
        """Update an arc if those of its start have been merged."""
        if start not in self._along and start not in self._against:
            self.pop(start, None)
        if start not in self:
            return
        found = [r for r in _as_list(self._along[start].get(end)) if _is_forward_arc(r)]
        found += [r for r in _as_list(self._against[start].get(end)) if _is_backward_arc(r)]
        best = max((relation.confidence for relation in found), default=0.0)
        if best > 0.0:
            self[start][self._interned.setdefault(end, end)] = best
        else:
            self[start].pop(end, None)


def _as_list(held: HeldRelations | None) -> list[Relation] | tuple[Relation, ...]:
    if held is None:
        return ()
    return held if isinstance(held, list) else (held,)


def _iterate_kind(row: Mapping[int, HeldRelations], kind: RelationKind) -> Iterator[Relation]:
    for held in row.values():
        for relation in _as_list(held):
            if relation.kind is kind:
                yield relation


def _is_forward_arc(relation: Relation) -> bool:
    return relation.kind in _PATH_KINDS_ORDERED


def _is_backward_arc(relation: Relation) -> bool:
    return relation.kind is RelationKind.OFTEN_USED_WITH


def _relation_from_edge(
    source: int, target: int, key: str, attributes: Mapping[str, Any]
) -> Relation:
    """Read an edge; missing attributes take the defaults of a relation."""
    return Relation(
        source=source,
        target=target,
        kind=RelationKind(key),
        confidence=float(attributes.get("confidence", 1.0)),
        required=bool(attributes.get("required", True)),
        sources=tuple(EvidenceSource(name) for name in attributes.get("sources", ())),
        detail=attributes.get("detail", {}),
    )
