import networkx as nx
import pytest
from hypothesis import given

from graph.algorithms.cycles import (
    BitsetReachability,
    TopologicalOrder,
    break_cycles,
    find_cyclic_components,
    sort_topologically,
)
from graph.relations import Relation, RelationKind
from tests.graph.drawn import assert_weakest_of_a_cycle, relations


def graph_of(drawn):
    return nx.DiGraph((one.source, one.target) for one in drawn)


@given(relations(loops=True))
def test_components_are_those_that_networkx_finds_the_largest_first(drawn):
    graph = graph_of(drawn)
    expected = [
        sorted(nodes)
        for nodes in nx.strongly_connected_components(graph)
        if len(nodes) > 1 or graph.has_edge(*[*nodes] * 2)
    ]
    found = find_cyclic_components(drawn)
    assert found == sorted(expected, key=lambda nodes: (-len(nodes), nodes[0]))


@given(relations((RelationKind.DEPENDS_ON,), loops=True))
def test_breaking_cycles_drops_only_the_weakest_relation_of_each(drawn):
    kept, cut = break_cycles(drawn)
    graph = graph_of(kept)
    assert sorted([*kept, *cut]) == sorted(drawn)
    assert nx.is_directed_acyclic_graph(graph)
    for one in cut:
        assert_weakest_of_a_cycle(one, drawn)
        graph.add_nodes_from(one[:2])
        assert nx.has_path(graph, one.target, one.source)


@pytest.mark.parametrize("kept", [BitsetReachability, TopologicalOrder])
@given(relations((RelationKind.DEPENDS_ON, RelationKind.PRECEDES), tools=12, most=90, loops=True))
def test_an_arc_is_refused_exactly_where_it_closes_a_cycle(kept, drawn):
    order, expected = kept(range(1, 13)), nx.DiGraph()
    expected.add_nodes_from(range(1, 13))
    for one in drawn:
        closes = nx.has_path(expected, one.target, one.source)
        assert order.add_arc(one.source, one.target) is not closes
        if not closes:
            expected.add_edge(one.source, one.target)
    assert {(a, b) for a, ahead in order.arcs.items() for b in ahead} == set(expected.edges)


@given(relations((RelationKind.DEPENDS_ON,), tools=9, most=30))
def test_the_order_is_the_first_valid_one_by_networkx(drawn):
    graph = graph_of(break_cycles(drawn).kept_relations)
    nodes = sorted(graph, reverse=True)
    arcs = {node: list(graph.successors(node)) for node in graph}
    expected = nx.lexicographical_topological_sort(graph, key=lambda node: -node)
    assert sort_topologically(nodes, arcs) == list(expected)


def test_a_ring_of_thousands_is_broken_where_it_is_weakest():
    ring = [Relation(n, (n + 1) % 5_000, RelationKind.DEPENDS_ON, 1.0) for n in range(5_000)]
    ring[123] = ring[123]._replace(confidence=0.5)
    assert break_cycles(ring).dropped_relations == (ring[123],)


def test_required_arcs_are_kept_over_more_confident_optional_ones():
    required = Relation(1, 2, RelationKind.DEPENDS_ON, 0.6)
    optional = Relation(2, 1, RelationKind.DEPENDS_ON, 0.9, False)
    assert break_cycles([optional, required]).dropped_relations == (optional,)
