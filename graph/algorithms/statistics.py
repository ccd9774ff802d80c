"""What a graph is like as a whole."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.communities import modularity
from graph.algorithms.cycles import cyclic
from graph.algorithms.matrix import Matrix, matrix
from graph.record import Metric
from graph.relations import Kind
from graph.topology import Topology

TOP: Final = 10
"""Tools listed by rank, and cycles listed by size."""
QUANTILES: Final = (0.5, 0.9, 0.99)


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """Figures of a graph; all of them JSON values once made a dict.

    Attributes:
        tools: That have relations.
        isolated: That have none.
        relations: Of all kinds.
        kinds: Number of relations of each kind there is.
        sources: Number of relations that each source speaks for; some have several.
        required: Number of required dependencies.
        arcs: Pairs that paths lead across, in one direction.
        density: Share of all possible arcs that there are, in [0, 1].
        components: Parts that no path joins, whatever its direction.
        largest_component: Tools in the largest of them.
        cycles: Tools that depend on each other in circles: the largest groups, as primary keys.
        cycle_count: Number of such groups.
        communities: Number of communities.
        largest_community: Tools in the largest of them.
        modularity: Of the communities, in [-1, 1].
        out_degree: Arcs from a tool: `p50`, `p90`, `p99`, `max`.
        in_degree: Arcs to a tool, likewise.
        top: The tools of the highest PageRank, as pairs of primary key and rank.
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


def statistics(
    topology: Topology,
    metrics: Mapping[int, Metric],
    *,
    arcs: Matrix | None = None,
    tools: Collection[int] = (),
) -> Statistics:
    """Describe a graph.

    Args:
        topology: Its relations.
        metrics: Of its tools; those without any are in no community and have no rank.
        arcs: Its matrix, where it has been made already.
        tools: All tools there are, to tell how many have no relations.
    """
    arcs = matrix(topology) if arcs is None else arcs
    every = list(topology.relations())
    needs = [relation for relation in every if relation.kind is Kind.DEPENDS_ON]
    circles = cyclic(needs)
    parts = _components(arcs)
    known = topology.tools()
    n = len(known)
    groups = Counter(metric.community for metric in metrics.values())
    return Statistics(
        tools=n,
        isolated=len(set(tools) - known),
        relations=len(every),
        kinds=_counted(relation.kind for relation in every),
        sources=_counted(source for relation in every for source in relation.sources),
        required=sum(relation.required for relation in needs),
        arcs=int(arcs.weights.nnz),
        density=arcs.weights.nnz / (n * (n - 1)) if n > 1 else 0.0,
        components=len(parts),
        largest_component=int(parts.max(initial=0)),
        cycles=tuple(tuple(circle) for circle in circles[:TOP]),
        cycle_count=len(circles),
        communities=len(groups),
        largest_community=max(groups.values(), default=0),
        modularity=_modularity(arcs, metrics),
        out_degree=_quantiles(np.diff(arcs.weights.indptr)),
        in_degree=_quantiles(np.bincount(arcs.weights.indices, minlength=len(arcs.tools))),
        top=_top(metrics),
    )


def _components(arcs: Matrix) -> NDArray[np.int64]:
    """Return the sizes of the weakly connected components."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - heavy

    if not len(arcs.tools):
        return np.empty(0, np.int64)
    _, labels = connected_components(arcs.weights, connection="weak")
    return np.bincount(labels)


def _modularity(arcs: Matrix, metrics: Mapping[int, Metric]) -> float:
    if any(tool not in metrics for tool in arcs.tools.tolist()):
        return 0.0
    labels = np.array([metrics[tool].community for tool in arcs.tools.tolist()], np.int64)
    return modularity(arcs, labels)


def _quantiles(degrees: NDArray[np.int64]) -> dict[str, int]:
    if not len(degrees):
        return {}
    found = np.quantile(degrees, QUANTILES, method="inverted_cdf")
    named = {f"p{round(100 * share)}": int(v) for share, v in zip(QUANTILES, found, strict=True)}
    return named | {"max": int(degrees.max())}


def _top(metrics: Mapping[int, Metric]) -> tuple[tuple[int, float], ...]:
    ranked = ((metric.pagerank, -tool) for tool, metric in metrics.items())
    return tuple((-minus, rank) for rank, minus in heapq.nlargest(TOP, ranked))


def _counted(names: Iterable[str]) -> dict[str, int]:
    """Count names, the most frequent first."""
    counts = Counter(map(str, names))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
