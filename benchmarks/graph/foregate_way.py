"""Foregate's implementation: relations in dicts, and a sparse matrix for global computations."""

from __future__ import annotations

from itertools import islice, starmap
from typing import Any

from benchmarks.graph.question import (
    RELATED,
    UPDATES,
    Question,
    answer,
    measure_each_us,
    measure_ms,
    resident_mb,
)
from graph.algorithms.communities import detect_communities
from graph.algorithms.expand import iterate_reached
from graph.algorithms.matrix import build_matrix
from graph.algorithms.pagerank import compute_pagerank
from graph.algorithms.shortest_path import find_shortest_path
from graph.relations import Relation, RelationKind
from graph.topology import Topology

KINDS = (RelationKind.DEPENDS_ON, RelationKind.PRECEDES, RelationKind.PROVIDES)


def measure(question: Question) -> dict[str, Any]:
    """Return the time and memory of each task, and its results."""
    ends = zip(question.sources, question.targets, question.weights, strict=True)
    rows = [(one, other, KINDS[one % 3], weight) for one, other, weight in ends]
    # Numeric libraries are loaded before memory is compared.
    detect_communities(build_matrix(Topology([Relation(1, 2, RelationKind.PROVIDES, 1.0)])))
    before_mb = resident_mb()
    build, topology = measure_ms(lambda: Topology(starmap(Relation, rows)), question.repeats)
    mb = resident_mb() - before_mb
    made, arcs = measure_ms(lambda: build_matrix(topology), question.repeats)
    ranked, ranks = measure_ms(lambda: compute_pagerank(arcs), 2 * question.repeats)
    divided, labels = measure_ms(lambda: detect_communities(arcs), question.repeats)
    changed = [Relation(*row)._replace(confidence=0.5) for row in rows[:UPDATES]]
    return {
        "build": build,
        "matrix": made,
        "mb": mb,
        "pagerank": ranked,
        "ranks": ranks.values.tolist(),
        "communities": divided,
        "labels": labels.tolist(),
        "path": measure_each_us(lambda pair: find_shortest_path(topology, *pair), question.pairs),
        "related": measure_each_us(lambda seeds: _find_related(topology, seeds), question.seeds),
        "update": _measure_updates(topology, changed),
    }


def _measure_updates(topology: Topology, changed: list[Relation]) -> float:
    """Return p50 in microseconds of changes that each build on the one before."""
    versions = [topology]

    def put(relation: Relation) -> None:
        versions[-1] = versions[-1].with_changes({relation.key: relation})

    return measure_each_us(put, changed)[0]


def _find_related(topology: Topology, seeds: list[int]) -> list[Any]:
    return list(islice(iterate_reached(topology, seeds), RELATED))


if __name__ == "__main__":
    answer(measure)
