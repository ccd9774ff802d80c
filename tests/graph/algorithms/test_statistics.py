import networkx as nx
import pytest
from hypothesis import given

from graph.algorithms.communities import detect_communities
from graph.algorithms.matrix import build_matrix
from graph.algorithms.statistics import describe_graph
from graph.record import GraphMetric
from graph.relations import EvidenceSource, Relation, RelationKind
from graph.topology import Topology
from tests.graph.drawn import digraph, relations, undirected

GRAPH = [
    Relation(
        1, 2, RelationKind.DEPENDS_ON, 0.9, True, (EvidenceSource.CURATED, EvidenceSource.OBSERVED)
    ),
    Relation(2, 1, RelationKind.DEPENDS_ON, 0.5, False, (EvidenceSource.SCHEMA,)),
    Relation(3, 1, RelationKind.OFTEN_USED_WITH, 0.5, True, (EvidenceSource.OBSERVED,)),
    Relation(4, 5, RelationKind.ALTERNATIVE_TO, 0.5, True, (EvidenceSource.CURATED,)),
]


def metric(pagerank, community):
    return GraphMetric(pagerank=pagerank, community=community, betweenness=0.0, closeness=0.0)


def test_given_communities_and_ranks_are_reported():
    metrics = {
        1: metric(0.4, 0),
        2: metric(0.2, 0),
        3: metric(0.2, 0),
        4: metric(0.1, 1),
        5: metric(0.1, 2),
    }
    found = describe_graph(Topology(GRAPH), metrics)
    assert (found.communities, found.largest_community) == (3, 3)
    assert found.top == ((1, 0.4), (2, 0.2), (3, 0.2), (4, 0.1), (5, 0.1))
    assert found.modularity == 0.0


@given(relations())
def test_they_agree_with_networkx(drawn):
    topology, graph = Topology(drawn), digraph(drawn)
    arcs = build_matrix(topology)
    labels = detect_communities(arcs).tolist()
    metrics = {
        tool: metric(0.0, label) for tool, label in zip(arcs.tools.tolist(), labels, strict=True)
    }
    found = describe_graph(topology, metrics, arcs=arcs)
    assert found.density == pytest.approx(nx.density(graph))
    assert found.components == nx.number_weakly_connected_components(graph)
    assert found.in_degree.get("max", 0) == max((d for _, d in graph.in_degree()), default=0)
    assert found.out_degree.get("max", 0) == max((d for _, d in graph.out_degree()), default=0)
    if graph.number_of_edges():
        groups = [{t for t in metrics if metrics[t].community == c} for c in set(labels)]
        assert found.modularity == pytest.approx(
            nx.community.modularity(undirected(graph), groups)
        )
