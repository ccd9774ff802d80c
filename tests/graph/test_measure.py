import pytest

from graph.measure import measure_topology
from graph.relations import Relation, RelationKind
from graph.topology import Topology

STAR = Topology(Relation(tool, 1, RelationKind.DEPENDS_ON, 0.9) for tool in range(2, 7))


def test_metrics_cover_all_tools_with_relations():
    metrics, _ = measure_topology(STAR, known={})
    assert metrics.keys() == set(range(1, 7))
    assert sum(metric.pagerank for metric in metrics.values()) == pytest.approx(1.0)
    hub = metrics[1]
    assert hub.closeness == 1.0
    assert (hub.community, hub.pagerank) == (0, max(m.pagerank for m in metrics.values()))
    assert type(hub.community) is int
    assert type(hub.pagerank) is float


def test_ranks_start_from_earlier_metrics():
    first, _ = measure_topology(STAR, known={})
    again, _ = measure_topology(STAR, known=first)
    for tool, metric in again.items():
        assert metric.pagerank == pytest.approx(first[tool].pagerank, abs=1e-6)
