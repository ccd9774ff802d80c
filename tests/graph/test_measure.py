import pytest

from graph.measure import measure_topology
from graph.relations import Relation, RelationKind
from graph.topology import Topology

STAR = Topology(Relation(tool, 1, RelationKind.DEPENDS_ON, 0.9) for tool in range(2, 7))


def test_ranks_start_from_earlier_metrics():
    first, _ = measure_topology(STAR, known={})
    again, _ = measure_topology(STAR, known=first)
    for tool, metric in again.items():
        assert metric.pagerank == pytest.approx(first[tool].pagerank, abs=1e-6)
