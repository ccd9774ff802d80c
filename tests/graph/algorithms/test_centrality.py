import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from graph.algorithms import centrality as module
from graph.algorithms.centrality import measure_centrality
from graph.algorithms.matrix import build_matrix
from graph.topology import Topology
from tests.graph.drawn import as_networkx, digraph, random_matrix, relations, with_rows


def assert_as_in_networkx(found, graph):
    measured = measure_centrality(found)
    between, close = nx.betweenness_centrality(graph), nx.closeness_centrality(graph)
    assert measured.is_exact
    assert measured.pivots == len(found.tools)
    assert measured.betweenness == pytest.approx([between[tool] for tool in found.tools])
    assert measured.closeness == pytest.approx([close[tool] for tool in found.tools])


@given(relations())
def test_results_on_small_graphs_equal_networkx(drawn):
    assert_as_in_networkx(
        with_rows(build_matrix(Topology(drawn)), [101]), digraph(drawn, tools=[101])
    )


def test_pivots_may_be_followed_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK_CELLS", 100)
    found = random_matrix(tools=40, arcs=200, seed=7)
    assert_as_in_networkx(found, as_networkx(found))


def test_sampled_centrality_is_marked_and_close():
    found = random_matrix(tools=500, arcs=4_000, seed=3)
    exact = measure_centrality(found)
    sampled = measure_centrality(found, exact_up_to=100, pivots=200)
    assert (sampled.is_exact, sampled.pivots) == (False, 200)
    assert np.abs(sampled.closeness - exact.closeness).max() < 0.05
    assert np.abs(sampled.betweenness - exact.betweenness).max() < 0.02
    assert np.corrcoef(sampled.betweenness, exact.betweenness)[0, 1] > 0.95
