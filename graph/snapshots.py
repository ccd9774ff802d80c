"""What a snapshot of a graph holds, and what changed between two of them.

A snapshot holds `tools`, each with `id` and, once computed, `pagerank` and `community`; and
`relations`, each with `source` and `target` (places in the list of tools), `kind` and
`confidence`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graph.record import Metric
from graph.topology import Topology

SAME_RANK: Final = 2e-6
"""Ranks this close may be the same: each is computed to within half of it."""
SAME_CONFIDENCE: Final = 5e-5
"""Confidence is kept to four digits."""

Link = tuple[str, str, str]
"""A relation: ids of source and target, and kind."""


class Changed(NamedTuple):
    """A relation that is surer or less sure than it was; both in [0, 1]."""

    source: str
    target: str
    kind: str
    before: float
    after: float


class Moved(NamedTuple):
    """A tool that is in another community than most of those it was with; numbers of both."""

    tool: str
    before: int
    after: int


class Shifted(NamedTuple):
    """A tool whose PageRank others have overtaken, or that has overtaken others.

    Attributes:
        tool: Its id.
        before: Its rank.
        after: Its rank.
        place_before: Its place by rank, from 1, among the tools of both snapshots.
        place_after: The same, later.
    """

    tool: str
    before: float
    after: float
    place_before: int
    place_after: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """What an earlier snapshot does not have in common with a later one.

    Attributes:
        tools_added: Ids.
        tools_removed: Ids.
        relations_added: In the order of their ids.
        relations_removed: Likewise.
        relations_changed: Those that changed most come first.
        moved: Tools in another community. Numbers of communities mean nothing by themselves, so
            each is first matched with the one that most of its tools were in.
        shifted: Tools whose place by PageRank changed, largest change of rank first.
    """

    tools_added: tuple[str, ...]
    tools_removed: tuple[str, ...]
    relations_added: tuple[Link, ...]
    relations_removed: tuple[Link, ...]
    relations_changed: tuple[Changed, ...]
    moved: tuple[Moved, ...]
    shifted: tuple[Shifted, ...]


def content(
    topology: Topology, metrics: Mapping[int, Metric], *, names: Mapping[int, str]
) -> dict[str, Any]:
    """Return a graph as a snapshot holds it, in JSON values.

    Args:
        topology: The relations.
        metrics: By primary key; a tool may be missing.
        names: Ids of tools by primary key; a tool without one is left out, with its relations.
    """
    places = {pk: place for place, pk in enumerate(sorted(names, key=names.__getitem__))}
    return {
        "tools": [
            {"id": names[pk]} | (metrics[pk]._asdict() if pk in metrics else {}) for pk in places
        ],
        "relations": [
            {
                "source": places[relation.source],
                "target": places[relation.target],
                "kind": relation.kind.value,
                "confidence": round(relation.confidence, 4),
            }
            for relation in topology.relations()
            if relation.source in places and relation.target in places
        ],
    }


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Compare two snapshots.

    O(tools log tools + relations log relations).

    Args:
        before: The earlier one.
        after: The later one.
    """
    tools = {tool["id"]: tool for tool in before["tools"]}
    later = {tool["id"]: tool for tool in after["tools"]}
    links, links_later = _links(before), _links(after)
    return Difference(
        tools_added=tuple(sorted(later.keys() - tools.keys())),
        tools_removed=tuple(sorted(tools.keys() - later.keys())),
        relations_added=tuple(sorted(links_later.keys() - links.keys())),
        relations_removed=tuple(sorted(links.keys() - links_later.keys())),
        relations_changed=_changed(links, links_later),
        moved=_moved(_values(tools, later, "community")),
        shifted=_shifted(_values(tools, later, "pagerank")),
    )


def _links(snapshot: Mapping[str, Any]) -> dict[Link, float]:
    ids = [tool["id"] for tool in snapshot["tools"]]
    return {
        (ids[one["source"]], ids[one["target"]], one["kind"]): one["confidence"]
        for one in snapshot["relations"]
    }


def _changed(before: Mapping[Link, float], after: Mapping[Link, float]) -> tuple[Changed, ...]:
    found = [
        Changed(*link, before[link], after[link])
        for link in before.keys() & after.keys()
        if abs(after[link] - before[link]) > SAME_CONFIDENCE
    ]
    return tuple(sorted(found, key=lambda one: (-abs(one.after - one.before), one)))


def _values(
    before: Mapping[str, Any], after: Mapping[str, Any], name: str
) -> list[tuple[str, Any, Any]]:
    """Return what tools of both snapshots have of a name, where both have it; by id."""
    return [
        (tool, before[tool][name], after[tool][name])
        for tool in sorted(before.keys() & after.keys())
        if name in before[tool] and name in after[tool]
    ]


def _moved(values: Iterable[tuple[str, int, int]]) -> tuple[Moved, ...]:
    both = [Moved(*value) for value in values]
    overlap = Counter((one.before, one.after) for one in both)
    became: dict[int, int] = {}
    taken: set[int] = set()
    for old, new in sorted(overlap, key=lambda pair: (-overlap[pair], pair)):
        if old not in became and new not in taken:
            became[old] = new
            taken.add(new)
    return tuple(one for one in both if became.get(one.before) != one.after)


def _shifted(values: list[tuple[str, float, float]]) -> tuple[Shifted, ...]:
    places = _places({tool: rank for tool, rank, _ in values})
    later = _places({tool: rank for tool, _, rank in values})
    found = [
        Shifted(tool, old, new, places[tool], later[tool])
        for tool, old, new in values
        if places[tool] != later[tool] and abs(new - old) > SAME_RANK
    ]
    return tuple(sorted(found, key=lambda one: (-abs(one.after - one.before), one)))


def _places(ranks: Mapping[str, float]) -> dict[str, int]:
    ordered = sorted(ranks, key=lambda tool: (-ranks[tool], tool))
    return {tool: place for place, tool in enumerate(ordered, start=1)}
