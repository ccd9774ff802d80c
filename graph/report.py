"""Build a report on the current graph for a person to read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from graph import contradictions, refresh, wording
from graph.record import GraphMetric
from graph.store import metrics, names, relations, snapshots, state, usage
from graph.topology import Topology

if TYPE_CHECKING:
    from graph.algorithms.statistics import GraphStatistics
    from graph.snapshots import SnapshotDifference
    from graph.store.snapshots import SnapshotHeader

DEFAULT_TOP: Final = 10
MAX_MEMBERS: Final = 3
"""Members of a community that are named."""
MIN_COMMUNITY_SIZE: Final = 2
"""Tools from which a community is listed."""
MEASURES: Final = ("pagerank", "betweenness", "closeness")


class SnapshotNotFound(LookupError):
    """A requested snapshot does not exist."""


class ValuedTool(NamedTuple):
    """A tool with one of its figures."""

    tool: str
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Community:
    """Tools more closely related to each other than to the rest.

    Attributes:
        number: Its number; the largest community is 0.
        members: Ids of its most central tools by PageRank.
    """

    number: int
    size: int
    members: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DependencyCycle:
    """Tools that depend on each other in a cycle.

    Attributes:
        dropped: Dependencies that orders drop, in words with their confidence.
    """

    tools: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphReport:
    """The current shared graph.

    Attributes:
        catalogue_tools: Number of tools that servers list.
        cycles: The largest dependency cycles.
        communities: The largest, each with its most central members.
        top: The first tools by `pagerank`, `betweenness` and `closeness`.
        most_called: The tools called most by all teams together.
        derived_at: When relations were last derived from schemas; None: never.
        is_outdated: Whether their inputs have changed since.
        snapshots: Stored snapshots, newest first.
    """

    catalogue_tools: int
    statistics: GraphStatistics
    cycles: tuple[DependencyCycle, ...]
    communities: tuple[Community, ...]
    top: Mapping[str, tuple[ValuedTool, ...]]
    isolated: tuple[str, ...]
    most_called: tuple[ValuedTool, ...]
    calls: int
    derived_at: datetime | None
    computed_at: datetime | None
    is_outdated: bool
    snapshots: tuple[SnapshotHeader, ...]


def build_report(*, now: datetime, top: int = DEFAULT_TOP) -> GraphReport:
    """Describe the shared graph."""
    from graph.algorithms.statistics import describe_graph  # noqa: PLC0415 - heavy

    catalogue = {tool.pk: name for name, tool in names.load_listed_tools().items()}
    topology, stored_metrics = relations.load_topology(now=now), metrics.load_metrics()
    statistics = describe_graph(topology, stored_metrics, tools=catalogue.keys())
    calls_by_tool = _sum_calls(usage.load_usage().items())
    name_of = _make_name_lookup(
        topology.collect_tools() | stored_metrics.keys() | calls_by_tool.keys()
    )
    computed = state.load_state()
    return GraphReport(
        catalogue_tools=len(catalogue),
        statistics=statistics,
        cycles=tuple(_name_cycles(topology, statistics.cycles[:top], name_of)),
        communities=tuple(_list_communities(stored_metrics, name_of)[:top]),
        top={
            measure: _top_by_measure(stored_metrics, measure, name_of, top) for measure in MEASURES
        },
        isolated=tuple(
            sorted(catalogue[pk] for pk in catalogue.keys() - topology.collect_tools())[:top]
        ),
        most_called=_greatest_values(calls_by_tool.items(), name_of, top),
        calls=sum(calls_by_tool.values()),
        derived_at=computed.derived_at,
        computed_at=computed.computed_at,
        is_outdated=refresh.is_outdated(now=now),
        snapshots=tuple(snapshots.load_headers()),
    )


def compare_with_snapshot(pk: int, *, now: datetime) -> SnapshotDifference:
    """Compare the current graph with a snapshot."""
    from graph.snapshots import compare_snapshots, snapshot_content  # noqa: PLC0415 - rarely used

    topology, stored_metrics = relations.load_topology(now=now), metrics.load_metrics()
    ids = names.load_ids(topology.collect_tools() | stored_metrics.keys())
    return compare_snapshots(
        snapshots.load_content(pk), snapshot_content(topology, stored_metrics, names=ids)
    )


def find_snapshot(wanted: int | datetime) -> SnapshotHeader:
    """Return a snapshot by primary key, or the last one taken by a time, else the first after.

    Raises:
        SnapshotNotFound: If there is no such snapshot.
    """
    stored = snapshots.load_headers()
    if not stored:
        raise SnapshotNotFound("no snapshot yet; `manage.py graph_stats --snapshot` takes one")
    if isinstance(wanted, datetime):
        return next((header for header in stored if header.taken_at <= wanted), stored[-1])
    for header in stored:
        if header.pk == wanted:
            return header
    newest = ", ".join(str(header.pk) for header in stored[:DEFAULT_TOP])
    raise SnapshotNotFound(f"no snapshot {wanted}; the newest are {newest}")


def _make_name_lookup(tools: Collection[int]) -> Callable[[int], str]:
    """Return a lookup of tools' ids, including tools no longer listed."""
    ids = names.load_ids(tools)
    return lambda tool: ids.get(tool, f"tool {tool}")


def _sum_calls(usage_counts: Iterable[tuple[tuple[int, int | None], int]]) -> dict[int, int]:
    calls: dict[int, int] = defaultdict(int)
    for (tool, _), count in usage_counts:
        calls[tool] += count
    return calls


def _name_cycles(
    topology: Topology, cycles: Iterable[tuple[int, ...]], name_of: Callable[[int], str]
) -> Iterable[DependencyCycle]:
    """Name the tools of each cycle, and the dependencies dropped from it."""
    dropped = contradictions.dropped_dependencies(topology.iterate_relations())
    for cycle in cycles:
        inside = [
            relation
            for relation in dropped
            if relation.source in cycle and relation.target in cycle
        ]
        yield DependencyCycle(
            tools=tuple(map(name_of, cycle)),
            dropped=tuple(
                f"{wording.write_sentence(relation, name_of)} ({relation.confidence:.2f})"
                for relation in inside
            ),
        )


def _list_communities(
    stored_metrics: Mapping[int, GraphMetric], name_of: Callable[[int], str]
) -> list[Community]:
    members: dict[int, list[int]] = defaultdict(list)
    for tool, metric in stored_metrics.items():
        members[metric.community].append(tool)
    return [
        Community(
            number=number,
            size=len(tools),
            members=tuple(
                map(
                    name_of,
                    sorted(tools, key=lambda tool: (-stored_metrics[tool].pagerank, tool))[
                        :MAX_MEMBERS
                    ],
                )
            ),
        )
        for number, tools in sorted(members.items())
        if len(tools) >= MIN_COMMUNITY_SIZE
    ]


def _top_by_measure(
    stored_metrics: Mapping[int, GraphMetric],
    measure: str,
    name_of: Callable[[int], str],
    top: int,
) -> tuple[ValuedTool, ...]:
    return _greatest_values(
        ((tool, getattr(metric, measure)) for tool, metric in stored_metrics.items()), name_of, top
    )


def _greatest_values(
    values: Iterable[tuple[int, float]], name_of: Callable[[int], str], top: int
) -> tuple[ValuedTool, ...]:
    ordered = sorted((-value, tool) for tool, value in values if value > 0)
    return tuple(ValuedTool(name_of(tool), -negated) for negated, tool in ordered[:top])
