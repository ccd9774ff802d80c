"""Measures the shared graph: where each tool stands in it, and what it is like as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from graph.algorithms.centrality import centrality
from graph.algorithms.communities import communities
from graph.algorithms.matrix import matrix
from graph.algorithms.pagerank import pagerank
from graph.algorithms.statistics import statistics
from graph.record import Metric
from graph.topology import Topology


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What was measured.

    Attributes:
        metrics: Of each tool that has relations.
        statistics: Of the whole, as JSON values: those of `Statistics`; `pivots`, the number of
            tools that betweenness and closeness were measured from; and `is_exact`, whether these
            were all.
    """

    metrics: Mapping[int, Metric] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)


def measure(topology: Topology, *, known: Mapping[int, Metric]) -> Measured:
    """Compute the metrics of all tools.

    Args:
        topology: The shared graph.
        known: Metrics computed last, from which PageRank starts.
    """
    arcs = matrix(topology)
    ranks = pagerank(arcs, warm={tool: metric.pagerank for tool, metric in known.items()})
    central = centrality(arcs)
    columns = (ranks.values, communities(arcs), central.betweenness, central.closeness)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    metrics = dict(zip(arcs.tools.tolist(), map(Metric._make, rows), strict=True))
    figures = asdict(statistics(topology, metrics, arcs=arcs))
    figures |= {"pivots": central.pivots, "is_exact": central.is_exact}
    return Measured(metrics=metrics, statistics=figures)
