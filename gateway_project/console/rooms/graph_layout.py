"""Keeps the positions of tools in the explorer, computed once for each version of the graph."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from graph.algorithms.layout import Position, place_tools
from graph.record import GraphMetric
from graph.topology import Topology
from tools.visibility import Visibility


@dataclass(frozen=True, kw_only=True)
class GraphLayout:
    """Positions of tools.

    Attributes:
        metrics: The version of the graph's metrics that they were computed for.
        groups: The group of each tool: the number of its community, or the name of its server.
        positions: By primary key.
    """

    metrics: Mapping[int, GraphMetric]
    groups: Mapping[int, Hashable]
    positions: Mapping[int, Position]


class LayoutCache:
    """The layouts of teams' graphs; may be used from any thread.

    A layout is computed again when the metrics were, or when a tool without a position appears:
    new relations alone move nothing, so that people find tools where they were.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._layouts: dict[int | None, GraphLayout] = {}

    def find(
        self,
        topology: Topology,
        metrics: Mapping[int, GraphMetric],
        visibility: Visibility,
    ) -> GraphLayout:
        """Return the positions of all tools that have relations.

        Args:
            topology: The relations as the caller's team sees them.
            metrics: Communities and PageRank of tools.
            visibility: Of the caller; names the servers of tools without a community.
        """
        team = visibility.caller.team
        with self._lock:
            known = self._layouts.get(team)
            tools = topology.collect_tools()
            if known is None or known.metrics is not metrics or not tools <= known.groups.keys():
                known = _compute_layout(topology, metrics, visibility, tools)
                self._layouts[team] = known
            return known


def _compute_layout(
    topology: Topology,
    metrics: Mapping[int, GraphMetric],
    visibility: Visibility,
    tools: set[int],
) -> GraphLayout:
    groups: dict[int, Hashable] = {}
    for tool in tools:
        metric, known = metrics.get(tool), visibility.find_tool(tool)
        groups[tool] = metric.community if metric else known.server if known else ""
    ranks = {tool: metrics[tool].pagerank for tool in tools if tool in metrics}
    return GraphLayout(
        metrics=metrics, groups=groups, positions=place_tools(topology, groups, ranks=ranks)
    )
