import pytest

from graph.measure import measure_topology
from graph.relations import Relation, RelationKind
from graph.topology import Topology

STAR = Topology(Relation(tool, 1, RelationKind.DEPENDS_ON, 0.9) for tool in range(2, 7))


def test_metrics_cover_all_tools_with_relations():
    measured = measure_topology(STAR, known={})
    assert measured.metrics.keys() == set(range(1, 7))
    assert sum(metric.pagerank for metric in measured.metrics.values()) == pytest.approx(1.0)
    hub = measured.metrics[1]
    assert hub.closeness == 1.0
    assert (hub.community, hub.pagerank) == (0, max(m.pagerank for m in measured.metrics.values()))
    assert type(hub.community) is int
    assert type(hub.pagerank) is float


def test_ranks_start_from_earlier_metrics():
    first = measure_topology(STAR, known={})
    again = measure_topology(STAR, known=first.metrics)
    for tool, metric in again.metrics.items():
        assert metric.pagerank == pytest.approx(first.metrics[tool].pagerank, abs=1e-6)
