"""igraph through its Python binding; run by the Python of a separate environment."""

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
    measure_each_us,
    measure_ms,
    resident_mb,
)


def measure(question: Question) -> dict[str, Any]:
    """Return the time and memory of each task, and its results."""
    rows = list(zip(question.sources, question.targets, question.weights, strict=True))
    warnings.simplefilter("ignore")  # raised if there is no path
    before_mb = resident_mb()
    build, graph = measure_ms(lambda: _build_graph(question.tools, rows), question.repeats)
    mb = resident_mb() - before_mb
    ranked, ranks = measure_ms(lambda: graph.pagerank(weights="weight"), question.repeats)
    divided, groups = measure_ms(lambda: _communities(graph), question.repeats)
    return {
        "build": build,
        "mb": mb,
        "pagerank": ranked,
        "ranks": ranks,
        "communities": divided,
        "labels": groups.membership,
        "path": measure_each_us(lambda pair: graph.get_shortest_path(*pair), question.pairs),
        "related": measure_each_us(lambda seeds: _find_related(graph, seeds), question.seeds),
        "update": measure_each_us(lambda row: _update(graph, *row), rows[:UPDATES])[0],
    }


def _build_graph(tools: int, rows: list[tuple[int, int, float]]) -> igraph.Graph:
    edges = [row[:2] for row in rows]
    weights = [row[2] for row in rows]
    return igraph.Graph(tools, edges, directed=True, edge_attrs={"weight": weights})


def _communities(graph: igraph.Graph) -> igraph.VertexClustering:
    """Detect communities; includes the conversion to an undirected graph that igraph requires."""
    undirected = graph.as_undirected(combine_edges="sum")
    return undirected.community_multilevel(weights="weight")


def _find_related(graph: igraph.Graph, seeds: list[int]) -> list[Any]:
    best: dict[int, float] = {}
    for seed in seeds:
        for middle, first in _list_neighbours(graph, seed):
            if first >= LEAST:
                best[middle] = max(best.get(middle, 0.0), first)
                for end, second in _list_neighbours(graph, middle):
                    if first * second >= LEAST:
                        best[end] = max(best.get(end, 0.0), first * second / 2)
    ranked = ((rank, tool) for tool, rank in best.items() if tool not in seeds)
    return heapq.nlargest(RELATED, ranked)


def _list_neighbours(graph: igraph.Graph, tool: int) -> list[tuple[int, float]]:
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
