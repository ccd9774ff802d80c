"""Foregate's own: relations in dicts, and a sparse matrix for what is computed over all of it."""

from __future__ import annotations

from itertools import islice, starmap
from typing import Any

from benchmarks.graph.question import (
    RELATED,
    UPDATES,
    Question,
    answer,
    each_us,
    resident_mb,
    times_ms,
)
from graph.algorithms.communities import communities
from graph.algorithms.expand import reached
from graph.algorithms.matrix import matrix
from graph.algorithms.pagerank import pagerank
from graph.algorithms.shortest_path import shortest_path
from graph.relations import Kind, Relation
from graph.topology import Topology

KINDS = (Kind.DEPENDS_ON, Kind.PRECEDES, Kind.PROVIDES)


def measure(question: Question) -> dict[str, Any]:
    """Return what everything takes."""
    ends = zip(question.sources, question.targets, question.weights, strict=True)
    rows = [(one, other, KINDS[one % 3], weight) for one, other, weight in ends]
    # The libraries of numbers are loaded before memory is compared.
    communities(matrix(Topology([Relation(1, 2, Kind.PROVIDES, 1.0)])))
    before_mb = resident_mb()
    build, topology = times_ms(lambda: Topology(starmap(Relation, rows)), question.repeats)
    mb = resident_mb() - before_mb
    made, arcs = times_ms(lambda: matrix(topology), question.repeats)
    ranked, ranks = times_ms(lambda: pagerank(arcs), 2 * question.repeats)
    divided, labels = times_ms(lambda: communities(arcs), question.repeats)
    changed = [Relation(*row)._replace(confidence=0.5) for row in rows[:UPDATES]]
    return {
        "build": build,
        "matrix": made,
        "mb": mb,
        "pagerank": ranked,
        "ranks": ranks.values.tolist(),
        "communities": divided,
        "labels": labels.tolist(),
        "path": each_us(lambda pair: shortest_path(topology, *pair), question.pairs),
        "related": each_us(lambda seeds: _related(topology, seeds), question.seeds),
        "update": each_us(topology.put, changed)[0],
    }


def _related(topology: Topology, seeds: list[int]) -> list[Any]:
    return list(islice(reached(topology, seeds), RELATED))


if __name__ == "__main__":
    answer(measure)
