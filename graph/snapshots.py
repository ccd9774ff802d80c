"""Build the content of graph snapshots, and compare two of them.

A snapshot holds `tools`, each with `id` and, once computed, `pagerank` and `community`; and
`relations`, each with `source` and `target` (indices into the list of tools), `kind` and
`confidence`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graph.record import GraphMetric
from graph.topology import Topology

RANK_TOLERANCE: Final = 2e-6
"""Difference up to which ranks count as equal: each is accurate to half of it."""
CONFIDENCE_TOLERANCE: Final = 5e-5
"""Snapshots keep four digits of a confidence."""

RelationNames = tuple[str, str, str]
"""A relation: ids of source and target, and kind."""


class ConfidenceChange(NamedTuple):
    """A relation whose confidence changed; both values in [0, 1]."""

    source: str
    target: str
    kind: str
    before: float
    after: float


class CommunityChange(NamedTuple):
    """A tool that left the community most of its former members are in; numbers of both."""

    tool: str
    before: int
    after: int


class RankChange(NamedTuple):
    """A tool whose position by PageRank changed.

    Attributes:
        place_before: Its earlier position, from 1, among the tools of both snapshots.
    """

    tool: str
    before: float
    after: float
    place_before: int
    place_after: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotDifference:
    """The differences between an earlier and a later snapshot.

    Attributes:
        relations_added: Sorted by ids.
        relations_removed: Likewise.
        relations_changed: Largest change first.
        moved: Tools that changed communities. Numbers of communities are arbitrary, so each
            community is first matched with the one that most of its tools were in.
        shifted: Tools whose position by PageRank changed, largest change of rank first.
    """

    tools_added: tuple[str, ...]
    tools_removed: tuple[str, ...]
    relations_added: tuple[RelationNames, ...]
    relations_removed: tuple[RelationNames, ...]
    relations_changed: tuple[ConfidenceChange, ...]
    moved: tuple[CommunityChange, ...]
    shifted: tuple[RankChange, ...]


def snapshot_content(
    topology: Topology, metrics: Mapping[int, GraphMetric], *, names: Mapping[int, str]
) -> dict[str, Any]:
    """Return the content of a snapshot, as JSON values.

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
            for relation in topology.iterate_relations()
            if relation.source in places and relation.target in places
        ],
    }


def compare_snapshots(before: Mapping[str, Any], after: Mapping[str, Any]) -> SnapshotDifference:
    """Compare two snapshots.

    O(tools log tools + relations log relations).
    """
    tools = {tool["id"]: tool for tool in before["tools"]}
    later_tools = {tool["id"]: tool for tool in after["tools"]}
    relations, later_relations = _relation_confidences(before), _relation_confidences(after)
    return SnapshotDifference(
        tools_added=tuple(sorted(later_tools.keys() - tools.keys())),
        tools_removed=tuple(sorted(tools.keys() - later_tools.keys())),
        relations_added=tuple(sorted(later_relations.keys() - relations.keys())),
        relations_removed=tuple(sorted(relations.keys() - later_relations.keys())),
        relations_changed=_find_confidence_changes(relations, later_relations),
        moved=_find_community_changes(_common_values(tools, later_tools, "community")),
        shifted=_find_rank_changes(_common_values(tools, later_tools, "pagerank")),
    )


def _relation_confidences(snapshot: Mapping[str, Any]) -> dict[RelationNames, float]:
    ids = [tool["id"] for tool in snapshot["tools"]]
    return {
        (ids[relation["source"]], ids[relation["target"]], relation["kind"]): relation[
            "confidence"
        ]
        for relation in snapshot["relations"]
    }


def _find_confidence_changes(
    before: Mapping[RelationNames, float], after: Mapping[RelationNames, float]
) -> tuple[ConfidenceChange, ...]:
    changes = [
        ConfidenceChange(*key, before[key], after[key])
        for key in before.keys() & after.keys()
        if abs(after[key] - before[key]) > CONFIDENCE_TOLERANCE
    ]
    return tuple(sorted(changes, key=lambda change: (-abs(change.after - change.before), change)))


def _common_values(
    before: Mapping[str, Any], after: Mapping[str, Any], name: str
) -> list[tuple[str, Any, Any]]:
    """Return the values of an attribute for tools that have it in both snapshots, by id."""
    return [
        (tool, before[tool][name], after[tool][name])
        for tool in sorted(before.keys() & after.keys())
        if name in before[tool] and name in after[tool]
    ]


def _find_community_changes(values: Iterable[tuple[str, int, int]]) -> tuple[CommunityChange, ...]:
    changes = [CommunityChange(*value) for value in values]
    overlap = Counter((change.before, change.after) for change in changes)
    new_by_old: dict[int, int] = {}
    taken: set[int] = set()
    for old, new in sorted(overlap, key=lambda pair: (-overlap[pair], pair)):
        if old not in new_by_old and new not in taken:
            new_by_old[old] = new
            taken.add(new)
    return tuple(change for change in changes if new_by_old.get(change.before) != change.after)


def _find_rank_changes(values: list[tuple[str, float, float]]) -> tuple[RankChange, ...]:
    places = _rank_places({tool: rank for tool, rank, _ in values})
    later_places = _rank_places({tool: rank for tool, _, rank in values})
    changes = [
        RankChange(tool, old, new, places[tool], later_places[tool])
        for tool, old, new in values
        if places[tool] != later_places[tool] and abs(new - old) > RANK_TOLERANCE
    ]
    return tuple(sorted(changes, key=lambda change: (-abs(change.after - change.before), change)))


def _rank_places(ranks: Mapping[str, float]) -> dict[str, int]:
    ordered = sorted(ranks, key=lambda tool: (-ranks[tool], tool))
    return {tool: place for place, tool in enumerate(ordered, start=1)}
