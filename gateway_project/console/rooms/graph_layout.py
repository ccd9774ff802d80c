"""Keeps the positions of tools in the explorer, computed once for each version of the graph."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass

from graph.algorithms.layout import Position, place_tools
from graph.record import GraphMetric
from graph.topology import Topology
from tools.visibility import Visibility

Groups = Mapping[int, Hashable]
Positions = dict[int, Position]


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """Positions of tools, done or being computed.

    Attributes:
        metrics: The version of the graph's metrics that they are computed for.
        tools: The tools that have a position.
        positions: By primary key.
    """

    metrics: Mapping[int, GraphMetric]
    tools: frozenset[int]
    positions: Future[Positions]


class LayoutCache:
    """The layouts of teams' graphs, computed in the background; may be used from any thread.

    A layout is computed again when the metrics were, or when a tool without a position appears:
    new relations alone move nothing, so that people find tools where they were.

    Args:
        executor: Computes layouts, one at a time.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._lock = threading.Lock()
        self._layouts: dict[int | None, _Layout] = {}

    def find(
        self,
        topology: Topology,
        metrics: Mapping[int, GraphMetric],
        groups: Groups,
        *,
        team: int | None,
    ) -> Positions | None:
        """Return the positions of all tools that have relations; None: they are being computed.

        Args:
            topology: The relations as a team sees them.
            metrics: Communities and PageRank of tools.
            groups: From `group_tools`.
            team: Primary key; None: callers without a team.
        """
        with self._lock:
            known = self._layouts.get(team)
            if known is None or known.metrics != metrics or not groups.keys() <= known.tools:
                if known is not None:
                    known.positions.cancel()  # if it has not begun
                known = self._begin(topology, metrics, groups)
                self._layouts[team] = known
            return known.positions.result() if known.positions.done() else None

    def _begin(
        self, topology: Topology, metrics: Mapping[int, GraphMetric], groups: Groups
    ) -> _Layout:
        ranks = {tool: metrics[tool].pagerank for tool in groups if tool in metrics}
        positions = self._executor.submit(place_tools, topology, groups, ranks=ranks)
        return _Layout(metrics=metrics, tools=frozenset(groups), positions=positions)


def group_tools(
    topology: Topology, metrics: Mapping[int, GraphMetric], visibility: Visibility
) -> Groups:
    """Return the group of each related tool: its community, or the name of its server.

    Args:
        topology: The relations as the caller's team sees them.
        metrics: Communities of tools.
        visibility: Of the caller; names the servers of tools without a community.
    """
    groups: dict[int, Hashable] = {}
    for tool in topology.collect_tools():
        metric, known = metrics.get(tool), visibility.find_tool(tool)
        groups[tool] = metric.community if metric else known.server if known else ""
    return groups
