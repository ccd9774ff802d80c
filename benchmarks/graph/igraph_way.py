"""igraph, by its Python binding; run by the Python of an environment of its own."""

from __future__ import annotations

import heapq
import warnings
from typing import Any

import igraph

from benchmarks.graph.question import (
    LEAST,
    RELATED,
    UPDATES,
    Question,
    answer,
    each_us,
    resident_mb,
    times_ms,
)


def measure(question: Question) -> dict[str, Any]:
    """Return what everything takes."""
    rows = list(zip(question.sources, question.targets, question.weights, strict=True))
    warnings.simplefilter("ignore")  # where there is no path
    before_mb = resident_mb()
    build, graph = times_ms(lambda: _built(question.tools, rows), question.repeats)
    mb = resident_mb() - before_mb
    ranked, ranks = times_ms(lambda: graph.pagerank(weights="weight"), question.repeats)
    divided, groups = times_ms(lambda: _communities(graph), question.repeats)
    return {
        "build": build,
        "mb": mb,
        "pagerank": ranked,
        "ranks": ranks,
        "communities": divided,
        "labels": groups.membership,
        "path": each_us(lambda pair: graph.get_shortest_path(*pair), question.pairs),
        "related": each_us(lambda seeds: _related(graph, seeds), question.seeds),
        "update": each_us(lambda row: _update(graph, *row), rows[:UPDATES])[0],
    }


def _built(tools: int, rows: list[tuple[int, int, float]]) -> igraph.Graph:
    edges = [row[:2] for row in rows]
    weights = [row[2] for row in rows]
    return igraph.Graph(tools, edges, directed=True, edge_attrs={"weight": weights})


def _communities(graph: igraph.Graph) -> igraph.VertexClustering:
    """Louvain of igraph is of undirected graphs; making one is part of it."""
    undirected = graph.as_undirected(combine_edges="sum")
    return undirected.community_multilevel(weights="weight")


def _related(graph: igraph.Graph, seeds: list[int]) -> list[Any]:
    best: dict[int, float] = {}
    for seed in seeds:
        for middle, first in _around(graph, seed):
            if first >= LEAST:
                best[middle] = max(best.get(middle, 0.0), first)
                for end, second in _around(graph, middle):
                    if first * second >= LEAST:
                        best[end] = max(best.get(end, 0.0), first * second / 2)
    ranked = ((rank, tool) for tool, rank in best.items() if tool not in seeds)
    return heapq.nlargest(RELATED, ranked)


def _around(graph: igraph.Graph, tool: int) -> list[tuple[int, float]]:
    edges = graph.es[graph.incident(tool, mode="all")]
    return [
        (target if source == tool else source, weight)
        for (source, target), weight in zip(
            (edge.tuple for edge in edges), edges["weight"], strict=True
        )
    ]


def _update(graph: igraph.Graph, source: int, target: int, _: float) -> None:
    graph.es[graph.get_eid(source, target)]["weight"] = 0.5


if __name__ == "__main__":
    answer(measure)
