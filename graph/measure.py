"""Compute the metrics of tools and the statistics of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from graph.algorithms.centrality import measure_centrality
from graph.algorithms.communities import detect_communities
from graph.algorithms.matrix import build_matrix
from graph.algorithms.pagerank import compute_pagerank
from graph.algorithms.statistics import describe_graph
from graph.record import GraphMetric
from graph.topology import Topology


def measure_topology(
    topology: Topology, *, known: Mapping[int, GraphMetric]
) -> tuple[Mapping[int, GraphMetric], Mapping[str, Any]]:
    """Compute the metrics of each tool that has relations, and the statistics of the graph.

    Returns:
        The metrics by tool; and the statistics as JSON values: the fields of `GraphStatistics`;
        `pivots`, the number of tools that betweenness and closeness were measured from; and
        `is_exact`, whether these were all tools.
    """
    arcs = build_matrix(topology)
    ranks = compute_pagerank(arcs, warm={tool: metric.pagerank for tool, metric in known.items()})
    central = measure_centrality(arcs)
    columns = (ranks.values, detect_communities(arcs), central.betweenness, central.closeness)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    metrics = dict(zip(arcs.tools.tolist(), map(GraphMetric._make, rows), strict=True))
    figures = asdict(describe_graph(topology, metrics, arcs=arcs))
    figures |= {"pivots": central.pivots, "is_exact": central.is_exact}
    return metrics, figures
