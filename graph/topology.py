"""The relations between tools in memory, as the callers of one team see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from graph.relations import PATH_KINDS, SYMMETRIC, Kind, Relation

Key = tuple[int, int, Kind]
_NONE: Final[Mapping[int, float]] = MappingProxyType({})


class Topology:
    """Relations by tool, kept current one relation at a time.

    Tools are primary keys. A tool without relations is not in it. Not safe for threads: one
    event loop reads and writes it.
    """

    def __init__(self, relations: Iterable[Relation] = ()) -> None:
        self._relations: dict[Key, Relation] = {}
        self._from: dict[int, dict[Key, Relation]] = {}
        self._to: dict[int, dict[Key, Relation]] = {}
        self._arcs: dict[int, dict[int, float]] = {}
        self._arcs_back: dict[int, dict[int, float]] = {}
        for relation in relations:
            self.put(relation)

    def put(self, relation: Relation) -> None:
        """Add a relation, or replace the one of its key."""
        key = relation.key
        self._relations[key] = relation
        self._from.setdefault(relation.source, {})[key] = relation
        self._to.setdefault(relation.target, {})[key] = relation
        self._connect(relation.source, relation.target)

    def discard(self, key: Key) -> None:
        """Take a relation out, if it is there."""
        if self._relations.pop(key, None) is None:
            return
        source, target, _ = key
        for side, tool in ((self._from, source), (self._to, target)):
            del side[tool][key]
            if not side[tool]:
                del side[tool]
        self._connect(source, target)

    def get(self, source: int, target: int, kind: Kind) -> Relation | None:
        """Return a relation by its key; of symmetric kinds, whichever way it is stored."""
        found = self._relations.get((source, target, kind))
        if found is None and kind in SYMMETRIC:
            found = self._relations.get((target, source, kind))
        return found

    def of(self, tool: int) -> Iterator[Relation]:
        """Yield the relations from and to a tool."""
        yield from self._from.get(tool, {}).values()
        yield from self._to.get(tool, {}).values()

    def outgoing(self, tool: int, kind: Kind) -> Iterator[Relation]:
        """Yield the relations of a kind that start from a tool; symmetric ones, all of them."""
        yield from (r for r in self._from.get(tool, {}).values() if r.kind is kind)
        if kind in SYMMETRIC:
            yield from (r for r in self._to.get(tool, {}).values() if r.kind is kind)

    def incoming(self, tool: int, kind: Kind) -> Iterator[Relation]:
        """Yield the relations of a kind that lead to a tool; symmetric ones, all of them."""
        yield from (r for r in self._to.get(tool, {}).values() if r.kind is kind)
        if kind in SYMMETRIC:
            yield from (r for r in self._from.get(tool, {}).values() if r.kind is kind)

    def successors(self, tool: int) -> Mapping[int, float]:
        """Return where paths go on from a tool, with the best confidence of any kind of path."""
        return self._arcs.get(tool, _NONE)

    def predecessors(self, tool: int) -> Mapping[int, float]:
        """Return where paths come from to a tool, with the best confidence."""
        return self._arcs_back.get(tool, _NONE)

    def relations(self) -> Iterable[Relation]:
        """Return every relation."""
        return self._relations.values()

    def __contains__(self, tool: int) -> bool:
        return tool in self._from or tool in self._to

    def __len__(self) -> int:
        """Count the relations."""
        return len(self._relations)

    def _connect(self, source: int, target: int) -> None:
        """Bring the arcs between two tools up to date; co-occurrence goes both ways."""
        for one, other in ((source, target), (target, source)):
            best = max(self._paths(one, other), default=None)
            for arcs, start, end in (
                (self._arcs, one, other),
                (self._arcs_back, other, one),
            ):
                if best is not None:
                    arcs.setdefault(start, {})[end] = best
                elif start in arcs:
                    arcs[start].pop(end, None)

    def _paths(self, source: int, target: int) -> Iterator[float]:
        for kind in PATH_KINDS:
            found = self.get(source, target, kind)
            if found is not None:
                yield found.confidence
