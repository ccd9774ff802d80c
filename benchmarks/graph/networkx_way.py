"""Plain networkx: a directed graph of weighted edges."""

from __future__ import annotations

import heapq
from contextlib import suppress
from typing import Any

import networkx as nx

from benchmarks.graph.question import (
    ACCURACY,
    DAMPING,
    LARGE,
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
    """Return the time and memory of each task; communities only if they take under a minute."""
    rows = list(zip(question.sources, question.targets, question.weights, strict=True))
    nx.pagerank(nx.DiGraph([(0, 1)]))
    before_mb = resident_mb()
    build, graph = measure_ms(lambda: _build_graph(question.tools, rows), question.repeats)
    mb = resident_mb() - before_mb
    # It stops when one step changes less than N * tol; the remaining error is damping /
    # (1 - damping) times that.
    tolerance = ACCURACY * (1 - DAMPING) / DAMPING / question.tools
    ranked, ranks = measure_ms(lambda: nx.pagerank(graph, tol=tolerance), question.repeats)
    found: dict[str, Any] = {
        "build": build,
        "mb": mb,
        "pagerank": ranked,
        "ranks": [ranks[tool] for tool in range(question.tools)],
        "path": measure_each_us(lambda pair: _path(graph, *pair), question.pairs),
        "related": measure_each_us(lambda seeds: _find_related(graph, seeds), question.seeds),
        "update": measure_each_us(
            lambda row: graph.add_edge(*row[:2], weight=0.5), rows[:UPDATES]
        )[0],
    }
    if len(rows) < LARGE:
        divided, groups = measure_ms(lambda: nx.community.louvain_communities(graph, seed=0), 1)
        labels = {tool: number for number, group in enumerate(groups) for tool in group}
        found |= {"communities": divided, "labels": [labels[n] for n in range(question.tools)]}
    return found


def _build_graph(tools: int, rows: list[tuple[int, int, float]]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(tools))
    graph.add_weighted_edges_from(rows)
    return graph


def _path(graph: nx.DiGraph, start: int, end: int) -> list[int] | None:
    with suppress(nx.NetworkXNoPath):
        return list(nx.bidirectional_shortest_path(graph, start, end))
    return None


def _find_related(graph: nx.DiGraph, seeds: list[int]) -> list[Any]:
    """Find the best paths of one or two edges, in either direction."""
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


def _list_neighbours(graph: nx.DiGraph, tool: int) -> list[tuple[int, float]]:
    edges = [(other, edge["weight"]) for other, edge in graph.succ[tool].items()]
    return edges + [(other, edge["weight"]) for other, edge in graph.pred[tool].items()]


if __name__ == "__main__":
    answer(measure)
