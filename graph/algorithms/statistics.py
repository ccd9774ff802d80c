"""Statistics of a whole graph."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.communities import compute_modularity
from graph.algorithms.cycles import find_cyclic_components
from graph.algorithms.matrix import Matrix, build_matrix
from graph.record import GraphMetric
from graph.relations import RelationKind
from graph.topology import Topology

TOP_TOOLS: Final = 10
"""Tools listed by rank, and cycles listed by size."""
QUANTILES: Final = (0.5, 0.9, 0.99)


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphStatistics:
    """Statistics of a graph; `asdict` gives JSON values.

    Attributes:
        tools: Number of tools with relations.
        isolated: Number of tools without relations.
        sources: Number of relations by source of evidence; a relation may have several.
        arcs: Number of directed pairs that paths follow.
        density: Share of all possible arcs, in [0, 1].
        components: Number of weakly connected components.
        largest_component: Number of tools in the largest of them.
        cycles: The largest groups of tools with cyclic dependencies, as primary keys.
        cycle_count: Number of such groups.
        largest_community: Tools in the largest of them.
        modularity: Modularity of the communities, in [-1, 1].
        out_degree: Quantiles of outgoing arcs: `p50`, `p90`, `p99`, `max`.
        in_degree: Quantiles of incoming arcs, likewise.
        top: Tools with the highest PageRank, as pairs of primary key and rank.
    """

    tools: int
    isolated: int
    relations: int
    kinds: Mapping[str, int]
    sources: Mapping[str, int]
    required: int
    arcs: int
    density: float
    components: int
    largest_component: int
    cycles: tuple[tuple[int, ...], ...]
    cycle_count: int
    communities: int
    largest_community: int
    modularity: float
    out_degree: Mapping[str, int]
    in_degree: Mapping[str, int]
    top: tuple[tuple[int, float], ...]


def describe_graph(
    topology: Topology,
    metrics: Mapping[int, GraphMetric],
    *,
    arcs: Matrix | None = None,
    tools: Collection[int] = (),
) -> GraphStatistics:
    """Compute the statistics of a graph.

    Args:
        topology: Its relations.
        metrics: Metrics of its tools; tools may be missing.
        arcs: Its matrix, if already built.
        tools: All existing tools, to count those without relations.
    """
    arcs = build_matrix(topology) if arcs is None else arcs
    all_relations = list(topology.iterate_relations())
    dependencies = [
        relation for relation in all_relations if relation.kind is RelationKind.DEPENDS_ON
    ]
    cycles = find_cyclic_components(dependencies)
    component_sizes = _component_sizes(arcs)
    related = topology.collect_tools()
    n = len(related)
    community_sizes = Counter(metric.community for metric in metrics.values())
    return GraphStatistics(
        tools=n,
        isolated=len(set(tools) - related),
        relations=len(all_relations),
        kinds=_count_names(relation.kind for relation in all_relations),
        sources=_count_names(source for relation in all_relations for source in relation.sources),
        required=sum(relation.required for relation in dependencies),
        arcs=int(arcs.weights.nnz),
        density=arcs.weights.nnz / (n * (n - 1)) if n > 1 else 0.0,
        components=len(component_sizes),
        largest_component=int(component_sizes.max(initial=0)),
        cycles=tuple(tuple(circle) for circle in cycles[:TOP_TOOLS]),
        cycle_count=len(cycles),
        communities=len(community_sizes),
        largest_community=max(community_sizes.values(), default=0),
        modularity=_modularity_of_metrics(arcs, metrics),
        out_degree=_degree_quantiles(np.diff(arcs.weights.indptr)),
        in_degree=_degree_quantiles(np.bincount(arcs.weights.indices, minlength=len(arcs.tools))),
        top=_top_by_pagerank(metrics),
    )


def _component_sizes(arcs: Matrix) -> NDArray[np.int64]:
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - heavy

    if not len(arcs.tools):
        return np.empty(0, np.int64)
    _, labels = connected_components(arcs.weights, connection="weak")
    return np.bincount(labels)


def _modularity_of_metrics(arcs: Matrix, metrics: Mapping[int, GraphMetric]) -> float:
    if any(tool not in metrics for tool in arcs.tools.tolist()):
        return 0.0
    labels = np.array([metrics[tool].community for tool in arcs.tools.tolist()], np.int64)
    return compute_modularity(arcs, labels)


def _degree_quantiles(degrees: NDArray[np.int64]) -> dict[str, int]:
    if not len(degrees):
        return {}
    quantiles = np.quantile(degrees, QUANTILES, method="inverted_cdf")
    by_name = {
        f"p{round(100 * share)}": int(v) for share, v in zip(QUANTILES, quantiles, strict=True)
    }
    return by_name | {"max": int(degrees.max())}


def _top_by_pagerank(metrics: Mapping[int, GraphMetric]) -> tuple[tuple[int, float], ...]:
    ranked = ((metric.pagerank, -tool) for tool, metric in metrics.items())
    return tuple((-minus, rank) for rank, minus in heapq.nlargest(TOP_TOOLS, ranked))


def _count_names(names: Iterable[str]) -> dict[str, int]:
    counts = Counter(map(str, names))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
