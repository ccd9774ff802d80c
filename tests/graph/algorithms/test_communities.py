import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from graph.algorithms.communities import compute_modularity, detect_communities
from graph.algorithms.matrix import build_matrix
from graph.relations import Relation, RelationKind
from graph.topology import Topology
from tests.graph.drawn import as_networkx, digraph, random_matrix, relations, undirected, with_rows

WORSE = 0.03
"""By how much networkx may find better communities: both are heuristics."""


def groups(found, labels):
    return [set(found.tools[labels == number].tolist()) for number in range(labels.max() + 1)]


def cliques():
    """Three groups, of two, four and three, with faint arcs between them."""
    inside = [(1, 2), (11, 12), (12, 13), (13, 14), (14, 11), (11, 13), (5, 6), (6, 7), (7, 5)]
    together = [Relation(*pair, RelationKind.OFTEN_USED_WITH, 1.0) for pair in inside]
    return [
        *together,
        Relation(2, 11, RelationKind.PRECEDES, 0.05),
        Relation(14, 5, RelationKind.PRECEDES, 0.05),
    ]


def test_groups_are_found_and_numbered_by_size():
    found = build_matrix(Topology(cliques()))
    assert groups(found, detect_communities(found)) == [{11, 12, 13, 14}, {5, 6, 7}, {1, 2}]


def test_a_tool_that_many_depend_on_is_in_one_community_with_them():
    star = Topology(Relation(tool, 1, RelationKind.DEPENDS_ON, 1.0) for tool in range(2, 7))
    assert detect_communities(build_matrix(star)).tolist() == [0] * 6


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_they_are_about_as_good_as_those_of_networkx(seed):
    found = random_matrix(tools=200, arcs=900, seed=seed)
    labels = detect_communities(found)
    assert np.array_equal(labels, detect_communities(found))
    graph = undirected(as_networkx(found))
    best = nx.community.louvain_communities(graph, seed=seed)
    own = compute_modularity(found, labels)
    assert own == pytest.approx(nx.community.modularity(graph, groups(found, labels)))
    assert own > nx.community.modularity(graph, best) - WORSE


@given(relations())
def test_every_tool_has_one_community_and_sizes_descend(drawn):
    found = with_rows(build_matrix(Topology(drawn)), [101, 102])
    labels = detect_communities(found)
    sizes = np.bincount(labels, minlength=1)
    assert len(labels) == len(found.tools)
    assert sorted(sizes, reverse=True) == sizes.tolist()
    assert all(sizes)
    parts = list(nx.connected_components(digraph(drawn, tools=[101, 102]).to_undirected()))
    for group in groups(found, labels):
        assert any(group <= part for part in parts)
    if found.weights.nnz:
        graph = undirected(digraph(drawn, tools=[101, 102]))
        expected = nx.community.modularity(graph, groups(found, labels))
        assert compute_modularity(found, labels) == pytest.approx(expected)
