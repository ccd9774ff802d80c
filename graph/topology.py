"""The in-memory graph of relations between tools, as the callers of one team see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gateway_project.foundation.garbage import pause_collection
from graph.relations import (
    PATH_KINDS,
    Relation,
    RelationKey,
    RelationKind,
    is_binding_dependency,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HeldRelations = Relation | list[Relation]
"""The relations from one tool to another: usually one, a list if there are several."""
Row = Mapping[int, HeldRelations]
"""The relations of a tool in one direction, by the tool at the other end."""
Arcs = Mapping[int, float]
"""The best confidence of a path kind between a tool and others."""

_SOURCE, _TARGET = (Relation._fields.index(name) for name in ("source", "target"))
_BACKWARD_KINDS: Final = tuple(kind for kind in PATH_KINDS if kind.traits.is_symmetric)
"""Path kinds that lead from the target to the source as well."""
_DEPENDENT_FREE_KINDS: Final = tuple(k for k in PATH_KINDS if k is not RelationKind.DEPENDS_ON)
_BUCKET_COUNT: Final = 256
"""With 10,000 changed tools, a change copies this many references and two dicts of 40."""


def accept_every_tool(tool: int) -> bool:  # noqa: ARG001 - the default predicate
    """Accept every tool (the default predicate)."""
    return True


class Topology:
    """Relations by tool; immutable, and safe to read from any thread.

    Tools are primary keys; a tool without relations is not contained. Each relation is stored
    once, reachable from both its tools. A changed topology shares all but the changed tools with
    the one that it was made from.
    """

    def __init__(self, relations: Iterable[Relation] = ()) -> None:
        loaded = _LoadedRelations(relations)
        self._set_tools(_ToolMap(loaded, ({},) * _BUCKET_COUNT, size=len(loaded.relations)))

    def _set_tools(self, tools: _ToolMap) -> None:
        self._tools = tools
        self.successors: Callable[[int], Arcs] = _ArcMap(tools, _SUCCESSORS).__getitem__
        """Return the successors of a tool on paths, with the best confidence of any path kind.

        Symmetric kinds lead both ways. Relations of confidence 0 are left out.
        """
        self.predecessors: Callable[[int], Arcs] = _ArcMap(tools, _PREDECESSORS).__getitem__
        """Return the predecessors of a tool on paths, with the best confidence."""
        self._neighbours = _ArcMap(tools, _NEIGHBOURS)
        self._neighbours_but_dependents = _ArcMap(tools, _NEIGHBOURS_BUT_DEPENDENTS)

    def with_changes(self, changes: Mapping[RelationKey, Relation | None]) -> Topology:
        """Return a topology in which some relations are added, replaced or removed.

        The cost of a change grows with the relations of its two tools, not with the topology.

        Args:
            changes: Relations by their keys; None: removed, if present.
        """
        changed = Topology.__new__(Topology)
        changed._set_tools(self._tools.with_changes(changes))
        return changed

    def get(self, source: int, target: int, kind: RelationKind) -> Relation | None:
        """Return a relation by its key; symmetric kinds match in either direction."""
        tool = self._tools[source]
        for relation in _as_list(tool.outgoing.get(target)):
            if relation.kind is kind:
                return relation
        if kind.traits.is_symmetric:
            for relation in _as_list(tool.incoming.get(target)):
                if relation.kind is kind:
                    return relation
        return None

    def relations_of(self, tool: int) -> Iterator[Relation]:
        """Yield the relations from and to a tool."""
        adjacency = self._tools[tool]
        for row in (adjacency.outgoing, adjacency.incoming):
            for held in row.values():
                yield from _as_list(held)

    def relations_between(self, one: int, other: int) -> Iterator[Relation]:
        """Yield the relations between two tools, in both directions."""
        adjacency = self._tools[one]
        yield from _as_list(adjacency.outgoing.get(other))
        yield from _as_list(adjacency.incoming.get(other))

    def relations_among(self, tools: Iterable[int]) -> Iterator[Relation]:
        """Yield the relations whose source and target are both among the tools."""
        members = dict.fromkeys(tools)
        for tool in members:
            row = self._tools[tool].outgoing
            for other in sorted(row.keys() & members.keys()):
                yield from _as_list(row[other])

    def incoming_relations(self, tool: int, *kinds: RelationKind) -> Iterator[Relation]:
        """Yield the relations of some kinds to a tool; of symmetric kinds, from it as well."""
        yield from _iterate_kinds(self._tools[tool].incoming, kinds)
        if backward := [kind for kind in kinds if kind.traits.is_symmetric]:
            yield from _iterate_kinds(self._tools[tool].outgoing, backward)

    def required_relations(self, tool: int) -> Iterator[Relation]:
        """Yield the binding `depends_on` relations of a tool."""
        for relation in _iterate_kinds(self._tools[tool].outgoing, (RelationKind.DEPENDS_ON,)):
            if is_binding_dependency(relation):
                yield relation

    def neighbours(self, tool: int, *, dependents: bool = True) -> Mapping[int, float]:
        """Return the neighbours of a tool on paths, in either direction, by falling confidence.

        Ties are in the order of primary keys.
        """
        return self._neighbours[tool] if dependents else self._neighbours_but_dependents[tool]

    def iterate_relations(self) -> Iterator[Relation]:
        """Yield every relation."""
        return self._tools.iterate_relations()

    def collect_tools(self) -> set[int]:
        """Return the tools that have relations."""
        return self._tools.collect_tools()

    def __contains__(self, tool: int) -> bool:
        return self._tools[tool] is not _NO_RELATIONS

    def __len__(self) -> int:
        """Return the number of relations."""
        return self._tools.size


class _Adjacency:
    """The relations of one tool; immutable.

    The arcs that follow from them are merged on first use; `cached_property` stores equal values
    if several threads do so at once.
    """

    def __init__(self, outgoing: Row, incoming: Row) -> None:
        self.outgoing = outgoing
        self.incoming = incoming

    @cached_property
    def successors(self) -> Arcs:
        """The arcs from the tool."""
        return _merge_arcs((self.outgoing, PATH_KINDS), (self.incoming, _BACKWARD_KINDS))

    @cached_property
    def predecessors(self) -> Arcs:
        """The arcs to the tool."""
        return _merge_arcs((self.incoming, PATH_KINDS), (self.outgoing, _BACKWARD_KINDS))

    @cached_property
    def neighbours(self) -> Arcs:
        """The arcs from and to the tool, best first."""
        return self._sort_neighbours(PATH_KINDS)

    @cached_property
    def neighbours_but_dependents(self) -> Arcs:
        """The same, without those of tools that depend on it."""
        return self._sort_neighbours(_DEPENDENT_FREE_KINDS)

    def _sort_neighbours(self, incoming_kinds: Sequence[RelationKind]) -> Arcs:
        best = _merge_arcs((self.outgoing, PATH_KINDS), (self.incoming, incoming_kinds))
        return dict(sorted(best.items(), key=lambda arc: (-arc[1], arc[0])))


_SUCCESSORS: Final = attrgetter("successors")
_PREDECESSORS: Final = attrgetter("predecessors")
_NEIGHBOURS: Final = attrgetter("neighbours")
_NEIGHBOURS_BUT_DEPENDENTS: Final = attrgetter("neighbours_but_dependents")
_NO_RELATIONS: Final = _Adjacency(MappingProxyType({}), MappingProxyType({}))


class _ToolMap(dict[int, _Adjacency]):
    """The relations of each tool: a persistent map of loaded relations and later changes.

    Changed tools are in buckets, and a further change copies those that it touches. The dict
    itself only remembers look-ups. Several threads may fill it: they store the same objects, and
    none iterates over it.
    """

    __slots__ = ("_buckets", "_loaded", "size")

    def __init__(
        self,
        loaded: _LoadedRelations,
        buckets: tuple[Mapping[int, _Adjacency], ...],
        *,
        size: int,
    ) -> None:
        self._loaded = loaded
        self._buckets = buckets
        self.size = size

    def __missing__(self, tool: int) -> _Adjacency:
        found = self._buckets[tool % _BUCKET_COUNT].get(tool) or self._loaded[tool]
        if found is not _NO_RELATIONS:
            self[tool] = found
        return found

    def with_changes(self, changes: Mapping[RelationKey, Relation | None]) -> _ToolMap:
        """Return a map in which some relations are added, replaced or removed (None)."""
        outgoing: dict[int, dict[int, HeldRelations]] = {}
        incoming: dict[int, dict[int, HeldRelations]] = {}
        size, intern = self.size, self._loaded.intern
        for (source, target, kind), relation in changes.items():
            if source not in outgoing:
                outgoing[source] = dict(self[source].outgoing)
            if target not in incoming:
                incoming[target] = dict(self[target].incoming)
            held = _as_list(outgoing[source].get(target))
            relations = [other for other in held if other.kind is not kind]
            if relation is not None:
                relations.append(relation)
            size += len(relations) - len(held)
            _set_relations(outgoing[source], intern(target, target), relations)
            _set_relations(incoming[target], intern(source, source), relations)
        return self._with_rows(outgoing, incoming, size=size)

    def _with_rows(
        self, outgoing: Mapping[int, Row], incoming: Mapping[int, Row], *, size: int
    ) -> _ToolMap:
        copies: dict[int, dict[int, _Adjacency]] = {}
        for tool in outgoing.keys() | incoming.keys():
            place = tool % _BUCKET_COUNT
            if place not in copies:
                copies[place] = dict(self._buckets[place])
            before = self[tool]
            after = _Adjacency(
                outgoing.get(tool, before.outgoing), incoming.get(tool, before.incoming)
            )
            copies[place][tool] = after if after.outgoing or after.incoming else _NO_RELATIONS
        buckets = list(self._buckets)
        for place, copy in copies.items():
            buckets[place] = copy
        return _ToolMap(self._loaded, tuple(buckets), size=size)

    def collect_tools(self) -> set[int]:
        """Return the tools that have relations."""
        changed = self._collect_changed()
        gone = {tool for tool, adjacency in changed.items() if adjacency is _NO_RELATIONS}
        return (self._loaded.tools | changed.keys()) - gone

    def iterate_relations(self) -> Iterator[Relation]:
        """Return an iterator over all relations; builds no rows."""
        changed = self._collect_changed()
        if not changed:
            return self._loaded.iterate_by_source()
        unchanged = (
            relation
            for relation in self._loaded.iterate_by_source()
            if relation.source not in changed
        )
        rows = (adjacency.outgoing.values() for adjacency in changed.values())
        return chain(unchanged, chain.from_iterable(map(_as_list, chain.from_iterable(rows))))

    def _collect_changed(self) -> dict[int, _Adjacency]:
        return {tool: one for bucket in self._buckets for tool, one in bucket.items()}


class _LoadedRelations(dict[int, _Adjacency]):
    """Relations loaded at once: only sorted; the rows of a tool are built on first use.

    The dict remembers them, as that of `_ToolMap` does. Equal keys are one interned object in all
    rows, so that look-ups mostly compare pointers: that saves a third of the cost of a path
    search.
    """

    def __init__(self, relations: Iterable[Relation]) -> None:
        """Load relations; of those with the same key the last one wins."""
        super().__init__()
        interned: dict[int, int] = {}
        self.intern: Callable[[int, int], int] = interned.setdefault
        with pause_collection():
            self.relations = list(relations)
        self._source_spans: dict[int, tuple[int, int]] = {}
        self._target_spans: dict[int, tuple[int, int]] = {}
        if self.relations:
            self._sort_relations()

    def _sort_relations(self) -> None:
        import numpy as np

        loaded = self.relations
        sources = np.fromiter(map(itemgetter(_SOURCE), loaded), np.int64, len(loaded))
        targets = np.fromiter(map(itemgetter(_TARGET), loaded), np.int64, len(loaded))
        order = np.lexsort((targets, sources))
        is_same = (np.diff(sources[order]) == 0) & (np.diff(targets[order]) == 0)
        repeated = np.flatnonzero(is_same)
        shared_keys = [
            loaded[place].key for place in order[np.union1d(repeated, repeated + 1)].tolist()
        ]
        if len(set(shared_keys)) < len(shared_keys):
            self.relations = list({relation.key: relation for relation in loaded}.values())
            self._sort_relations()
            return
        self._by_source, self._by_target = order, np.argsort(targets, kind="stable")
        self._source_spans = _find_spans(sources[self._by_source])
        self._target_spans = _find_spans(targets[self._by_target])

    def __missing__(self, tool: int) -> _Adjacency:
        starts, ends = self._source_spans.get(tool), self._target_spans.get(tool)
        if starts is None and ends is None:
            return _NO_RELATIONS
        adjacency = _Adjacency(
            {} if starts is None else self._build_row(self._by_source[slice(*starts)], _TARGET),
            {} if ends is None else self._build_row(self._by_target[slice(*ends)], _SOURCE),
        )
        return self.setdefault(tool, adjacency)

    def _build_row(self, places: NDArray[np.int64], end: int) -> Row:
        """Return some of the relations by the tool at one end."""
        relations, intern = self.relations, self.intern
        row: dict[int, HeldRelations] = {}
        for place in places.tolist():
            relation = relations[place]
            other: int = relation[end]
            if other in row:
                row[other] = [*_as_list(row[other]), relation]
            else:
                row[intern(other, other)] = relation
        return row

    @property
    def tools(self) -> set[int]:
        """The tools that have relations."""
        return self._source_spans.keys() | self._target_spans.keys()

    def iterate_by_source(self) -> Iterator[Relation]:
        """Return an iterator over all relations, ordered by source and target."""
        if not self.relations:
            return iter(())
        return map(self.relations.__getitem__, self._by_source.tolist())


class _ArcMap(dict[int, Arcs]):
    """Arcs of one sort by tool, in a dict because a path search looks up hundreds."""

    __slots__ = ("_arcs_of", "_tools")

    def __init__(self, tools: _ToolMap, arcs_of: Callable[[_Adjacency], Arcs]) -> None:
        self._tools = tools
        self._arcs_of = arcs_of

    def __missing__(self, tool: int) -> Arcs:
        adjacency = self._tools[tool]
        arcs = self._arcs_of(adjacency)
        if adjacency is not _NO_RELATIONS:
            self[tool] = arcs
        return arcs


def _find_spans(ends: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    import numpy as np

    starts = np.flatnonzero(np.diff(ends, prepend=ends[0] - 1))
    bounds = pairwise([*starts.tolist(), len(ends)])
    return dict(zip(ends[starts].tolist(), bounds, strict=True))


def _as_list(held: HeldRelations | None) -> list[Relation] | tuple[Relation, ...]:
    if held is None:
        return ()
    return held if isinstance(held, list) else (held,)


def _set_relations(row: dict[int, HeldRelations], other: int, relations: list[Relation]) -> None:
    if relations:
        row[other] = relations[0] if len(relations) == 1 else relations
    else:
        row.pop(other, None)


def _merge_arcs(*parts: tuple[Row, Sequence[RelationKind]]) -> dict[int, float]:
    """Return the best confidence of the relations of some kinds, by the tool at the other end."""
    best: dict[int, float] = {}
    for row, kinds in parts:
        for other, held in row.items():
            for relation in held if isinstance(held, list) else (held,):
                if relation.confidence > best.get(other, 0.0) and relation.kind in kinds:
                    best[other] = relation.confidence
    return best


def _iterate_kinds(row: Row, kinds: Sequence[RelationKind]) -> Iterator[Relation]:
    for held in row.values():
        for relation in _as_list(held):
            if relation.kind in kinds:
                yield relation
