import math
from itertools import pairwise
from itertools import product as product_of

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.algorithms.shortest_path import find_shortest_path, find_strongest_path, path_confidence
from graph.relations import Relation, RelationKind
from graph.topology import Topology
from tests.graph.drawn import CONFIDENCES, digraph, relations

TOOLS = range(1, 9)
GRAPHS = relations(tools=8, most=30)


def leads(source, target, confidence=1.0):
    return Relation(source, target, RelationKind.PROVIDES, confidence)


def product(graph, path):
    return math.prod(graph.edges[arc]["weight"] for arc in nx.utils.pairwise(path))


@given(GRAPHS)
def test_it_is_the_surest_of_the_shortest_that_networkx_finds(drawn):
    topology, graph = Topology(drawn), digraph(drawn, tools=TOOLS)
    for start in TOOLS:
        for end in TOOLS:
            found = find_shortest_path(topology, start, end)
            if not nx.has_path(graph, start, end):
                assert found is None
                continue
            every = list(nx.all_shortest_paths(graph, start, end))
            assert list(found) in every
            best = max(product(graph, path) for path in every)
            assert path_confidence(topology, found) == pytest.approx(best)


@given(GRAPHS)
def test_the_strongest_path_equals_brute_force(drawn):
    topology, graph = Topology(drawn), digraph(drawn, tools=TOOLS)
    for end in TOOLS:
        found = find_strongest_path(topology, 1, end)
        every = list(nx.all_simple_paths(graph, 1, end))
        if not every:
            assert found is None
            continue
        best = max(product(graph, path) for path in every)
        assert path_confidence(topology, found) == pytest.approx(best)


@given(st.lists(CONFIDENCES, min_size=45, max_size=45))
def test_the_strongest_path_is_found_among_many_choices(confidences):
    layers = [[0], *([layer, layer + 1, layer + 2] for layer in range(10, 70, 10)), [1]]
    arcs = [arc for one, other in pairwise(layers) for arc in product_of(one, other)]
    drawn = [leads(*arc, sure) for arc, sure in zip(arcs, confidences + [0.5] * 6, strict=True)]
    topology, graph = Topology(drawn), digraph(drawn)
    best = max(product(graph, path) for path in nx.all_simple_paths(graph, 0, 1))
    for find in (find_shortest_path, find_strongest_path):
        assert path_confidence(topology, find(topology, 0, 1)) == pytest.approx(best)


def test_ties_between_paths_go_to_smaller_keys():
    # 8 and 16 fall on the same place in a small set, so it holds them as they came.
    one = [leads(1, 8), leads(8, 2), leads(2, 3), leads(3, 4)]
    other = [leads(1, 16), leads(16, 2)]
    for drawn in ([*one, *other], [*other, *one]):
        topology = Topology()
        for relation in drawn:
            topology = topology.with_changes({relation.key: relation})
        assert find_shortest_path(topology, 1, 2) == (1, 8, 2)
        assert find_shortest_path(topology, 1, 4) == (1, 8, 2, 3, 4)
        assert find_strongest_path(topology, 1, 4) == (1, 8, 2, 3, 4)


@given(GRAPHS)
def test_the_answer_does_not_depend_on_how_the_relations_were_loaded(drawn):
    one, other = Topology(drawn), Topology(reversed(drawn))
    for end in TOOLS:
        assert find_shortest_path(one, 1, end) == find_shortest_path(other, 1, end)
        assert find_strongest_path(one, 1, end) == find_strongest_path(other, 1, end)


def test_a_long_chain_is_followed_to_its_end():
    chain = Topology(leads(tool, tool + 1) for tool in range(3_000))
    assert find_shortest_path(chain, 0, 3_000) == tuple(range(3_001))
