"""The relations between tools in memory, as the callers of one team see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation.garbage import uncollected
from graph.relations import PATH_KINDS, SYMMETRIC, Key, Kind, Relation, Source, is_binding

if TYPE_CHECKING:
    import numpy as np
    from networkx import MultiDiGraph
    from numpy.typing import NDArray

Held = Relation | list[Relation]
"""What holds from one tool to another: mostly one relation, a list where there are several."""

_PATHS: Final = tuple(PATH_KINDS)  # members of an enumeration are slow to hash
_NO_ROW: Final[Mapping[int, Held]] = MappingProxyType({})
_NO_ARCS: Final[Mapping[int, float]] = MappingProxyType({})


def always(tool: int) -> bool:  # noqa: ARG001 - a predicate for those who have none
    """Say yes to every tool."""
    return True


class Topology:
    """Relations by tool, kept current one relation at a time.

    Tools are primary keys. A tool without relations is not in it. Relations lie once, reachable
    from both their tools; what paths follow is merged for a tool when it is first asked for, and
    then kept current, so mappings that were handed out change with the topology. Not safe for
    threads: one event loop reads and writes it.
    """

    def __init__(self, relations: Iterable[Relation] = ()) -> None:
        self._from = _Rows()
        self._to = _Rows()
        same: dict[int, int] = {}
        self._ahead = _Arcs(self._from, self._to, same)
        self._behind = _Arcs(self._to, self._from, same)
        self._around: dict[bool, dict[int, dict[int, float]]] = {True: {}, False: {}}
        self._size = 0
        self.successors: Callable[[int], Mapping[int, float]] = self._ahead.__getitem__
        """Return where paths go on from a tool, with the best confidence of any kind of path.

        `often_used_with` goes both ways. Relations of no confidence lead nowhere.
        """
        self.predecessors: Callable[[int], Mapping[int, float]] = self._behind.__getitem__
        """Return where paths come from to a tool, with the best confidence."""
        self._load(relations)

    def put(self, relation: Relation) -> None:
        """Add a relation, or replace the one of its key; O(1)."""
        held = _each(self._from[relation.source].get(relation.target))
        rest = [other for other in held if other.kind is not relation.kind]
        self._size += 1 + len(rest) - len(held)
        self._hold(relation.source, relation.target, [*rest, relation])

    def discard(self, key: Key) -> None:
        """Take a relation out, if it is there; O(1)."""
        source, target, kind = key
        held = _each(self._from[source].get(target))
        rest = [other for other in held if other.kind is not kind]
        if len(rest) < len(held):
            self._size -= 1
            self._hold(source, target, rest)

    def get(self, source: int, target: int, kind: Kind) -> Relation | None:
        """Return a relation by its key; of symmetric kinds, whichever way it is stored."""
        for relation in _each(self._from[source].get(target)):
            if relation.kind is kind:
                return relation
        if kind in SYMMETRIC:
            for relation in _each(self._to[source].get(target)):
                if relation.kind is kind:
                    return relation
        return None

    def of(self, tool: int) -> Iterator[Relation]:
        """Yield the relations from and to a tool."""
        for rows in (self._from, self._to):
            for held in rows[tool].values():
                yield from _each(held)

    def between(self, one: int, other: int) -> Iterator[Relation]:
        """Yield the relations between two tools, whichever way they are stored."""
        yield from _each(self._from[one].get(other))
        yield from _each(self._to[one].get(other))

    def among(self, tools: Iterable[int]) -> Iterator[Relation]:
        """Yield the relations that both start from and lead to some of the tools."""
        wanted = dict.fromkeys(tools)
        for tool in wanted:
            row = self._from[tool]
            for other in sorted(row.keys() & wanted.keys()):
                yield from _each(row[other])

    def outgoing(self, tool: int, kind: Kind) -> Iterator[Relation]:
        """Yield the relations of a kind that start from a tool; symmetric ones, all of them."""
        if kind in SYMMETRIC:
            yield from (r for r in self.of(tool) if r.kind is kind)
        else:
            yield from _of_kind(self._from[tool], kind)

    def incoming(self, tool: int, kind: Kind) -> Iterator[Relation]:
        """Yield the relations of a kind that lead to a tool; symmetric ones, all of them."""
        if kind in SYMMETRIC:
            yield from (r for r in self.of(tool) if r.kind is kind)
        else:
            yield from _of_kind(self._to[tool], kind)

    def requires(self, tool: int) -> Iterator[Relation]:
        """Yield what a tool cannot do without: its `depends_on` that bind."""
        for relation in _of_kind(self._from[tool], Kind.DEPENDS_ON):
            if is_binding(relation):
                yield relation

    def neighbours(self, tool: int, *, dependents: bool = True) -> Mapping[int, float]:
        """Return what one relation of a path, either way, joins to a tool; most confident first.

        Equally confident ones are in the order of their keys.

        Args:
            tool: Its key.
            dependents: Whether `depends_on` joins to a tool what depends on it.
        """
        known = self._around[dependents]
        found = known.get(tool)
        if found is not None:
            return found
        if tool not in self:
            return _NO_ARCS
        best = dict(self.successors(tool))
        for other, confidence in self.predecessors(tool).items():
            if confidence > best.get(other, 0.0):
                if not dependents:
                    back = [r for r in _each(self._to[tool].get(other)) if _leads(r)]
                    sure = (r.confidence for r in back if r.kind is not Kind.DEPENDS_ON)
                    confidence = max(sure, default=0.0)
                best[other] = max(best.get(other, 0.0), confidence)
        best = {other: confidence for other, confidence in best.items() if confidence}
        ordered = dict(sorted(best.items(), key=lambda arc: (-arc[1], arc[0])))
        known[tool] = ordered
        return ordered

    def relations(self) -> Iterator[Relation]:
        """Yield every relation."""
        for row in self._from.every():
            for held in row.values():
                if isinstance(held, list):
                    yield from held
                else:
                    yield held

    def tools(self) -> set[int]:
        """Return the tools that have relations."""
        return self._from.tools() | self._to.tools()

    def to_networkx(self) -> MultiDiGraph[int]:
        """Return all of it as a networkx graph, one edge a relation, its kind as the key."""
        import networkx as nx  # noqa: PLC0415 - heavy

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
            for relation in self.relations()
        )
        return graph

    @classmethod
    def from_networkx(cls, graph: MultiDiGraph[int]) -> Topology:
        """Return the topology of a graph such as `to_networkx` makes.

        Raises:
            ValueError: If the key of an edge is not a kind of relation.
        """
        return cls(
            _relation(source, target, key, attributes)
            for source, target, key, attributes in graph.edges(keys=True, data=True)
        )

    def __contains__(self, tool: int) -> bool:
        return tool in self._from or tool in self._to

    def __len__(self) -> int:
        """Count the relations."""
        return self._size

    def _load(self, relations: Iterable[Relation]) -> None:
        """Take over many relations; of those with the same key the last one counts."""
        with uncollected():
            loaded = list(relations)
        if not loaded:
            return
        import numpy as np  # noqa: PLC0415 - not for an empty graph

        sources = np.fromiter(map(itemgetter(0), loaded), np.int64, len(loaded))
        targets = np.fromiter(map(itemgetter(1), loaded), np.int64, len(loaded))
        order = np.lexsort((targets, sources))
        is_same = (np.diff(sources[order]) == 0) & (np.diff(targets[order]) == 0)
        several = np.flatnonzero(is_same)
        shared = [loaded[place].key for place in order[np.union1d(several, several + 1)].tolist()]
        if len(set(shared)) < len(shared):
            self._load({relation.key: relation for relation in loaded}.values())
            return
        self._from.load(loaded, sources, order)
        self._to.load(loaded, targets, np.argsort(targets, kind="stable"))
        self._size = len(loaded)

    def _hold(self, source: int, target: int, relations: list[Relation]) -> None:
        """Let relations be what holds from one tool to another, and bring the arcs up to date."""
        self._from.hold(source, target, relations)
        self._to.hold(target, source, relations)
        for one, other in ((source, target), (target, source)):
            self._ahead.renew(one, other)
            self._behind.renew(one, other)
            for known in self._around.values():
                known.pop(one, None)


class _Rows(dict[int, Mapping[int, Held]]):
    """Relations by the tool at one of their ends, then by the tool at the other.

    What is loaded at once is only sorted; the row of a tool is made when it is first asked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loaded: Sequence[Relation] = ()
        self._order: NDArray[np.int64] | None = None
        self._spans: dict[int, tuple[int, int]] = {}

    def load(
        self, relations: Sequence[Relation], ends: NDArray[np.int64], order: NDArray[np.int64]
    ) -> None:
        """Take over relations, none of which is there yet.

        Args:
            relations: Each key once.
            ends: The tool of each that its row is to be under.
            order: Their places, sorted by that.
        """
        import numpy as np  # noqa: PLC0415 - not for an empty graph

        starts = np.flatnonzero(np.diff(ends[order], prepend=ends.min() - 1))
        bounds = pairwise([*starts.tolist(), len(relations)])
        self._spans = dict(zip(ends[order[starts]].tolist(), bounds, strict=True))
        self._loaded, self._order = relations, order

    def hold(self, start: int, end: int, relations: list[Relation]) -> None:
        """Let relations, or none, be what holds between two tools."""
        row = self[start]
        if not isinstance(row, dict):
            row = self[start] = {}
        if relations:
            row[end] = relations[0] if len(relations) == 1 else relations
            return
        del row[end]
        if not row:
            del self[start]

    def every(self) -> Iterator[Mapping[int, Held]]:
        """Return all rows."""
        for tool in list(self._spans):
            self[tool]
        self._loaded, self._order = (), None
        return iter(self.values())

    def tools(self) -> set[int]:
        """Return the tools that have a row."""
        return self.keys() | self._spans.keys()

    def __contains__(self, tool: object) -> bool:
        return tool in self._spans or super().__contains__(tool)

    def __missing__(self, tool: int) -> Mapping[int, Held]:
        span = self._spans.pop(tool, None)
        if span is None or self._order is None:
            return _NO_ROW
        row: dict[int, Held] = {}
        for place in self._order[slice(*span)].tolist():
            relation = self._loaded[place]
            other = relation.target if relation.source == tool else relation.source
            held = row.get(other)
            row[other] = relation if held is None else [*_each(held), relation]
        self[tool] = row
        return row


class _Arcs(dict[int, dict[int, float]]):
    """The best confidence of any path's relation from a tool, merged when first asked for.

    Every key is one and the same object wherever it stands, so that looking it up is mostly a
    comparison of pointers: that takes a third off what a path costs.
    """

    def __init__(self, along: _Rows, against: _Rows, same: dict[int, int]) -> None:
        super().__init__()
        self._along = along
        self._against = against
        self._same = same

    def __missing__(self, tool: int) -> Mapping[int, float]:
        if tool not in self._along and tool not in self._against:
            return _NO_ARCS
        same = self._same.setdefault
        best: dict[int, float] = {}
        for rows, counts in ((self._along, _leads), (self._against, _returns)):
            for other, held in rows[tool].items():
                for relation in _each(held):
                    if relation.confidence > best.get(other, 0.0) and counts(relation):
                        best[same(other, other)] = relation.confidence
        self[same(tool, tool)] = best
        return best

    def renew(self, start: int, end: int) -> None:
        """Bring an arc up to date if those of its start have been merged."""
        if start not in self._along and start not in self._against:
            self.pop(start, None)
        if start not in self:
            return
        found = [r for r in _each(self._along[start].get(end)) if _leads(r)]
        found += [r for r in _each(self._against[start].get(end)) if _returns(r)]
        best = max((relation.confidence for relation in found), default=0.0)
        if best > 0.0:
            self[start][self._same.setdefault(end, end)] = best
        else:
            self[start].pop(end, None)


def _each(held: Held | None) -> list[Relation] | tuple[Relation, ...]:
    if held is None:
        return ()
    return held if isinstance(held, list) else (held,)


def _of_kind(row: Mapping[int, Held], kind: Kind) -> Iterator[Relation]:
    for held in row.values():
        for relation in _each(held):
            if relation.kind is kind:
                yield relation


def _leads(relation: Relation) -> bool:
    return relation.kind in _PATHS


def _returns(relation: Relation) -> bool:
    return relation.kind is Kind.OFTEN_USED_WITH


def _relation(source: int, target: int, key: str, attributes: Mapping[str, Any]) -> Relation:
    """Read an edge; what it does not say is as in a new relation."""
    return Relation(
        source=source,
        target=target,
        kind=Kind(key),
        confidence=float(attributes.get("confidence", 1.0)),
        required=bool(attributes.get("required", True)),
        sources=tuple(Source(name) for name in attributes.get("sources", ())),
        detail=attributes.get("detail", {}),
    )
