import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.algorithms.matrix import build_matrix
from graph.algorithms.pagerank import TOLERANCE, compute_pagerank
from graph.relations import Relation, RelationKind
from graph.topology import Topology
from tests.graph.drawn import digraph, relations, with_rows

LONELY = (101, 102)


def solved(found, damping):
    """Solve the linear equations that ranks are defined by."""
    weights = found.weights.toarray()
    n = len(weights)
    total = weights.sum(axis=1, keepdims=True)
    walk = np.divide(weights, total, out=np.full((n, n), 1.0 / n), where=total > 0.0)
    return np.linalg.solve(np.eye(n) - damping * walk.T, np.full(n, (1.0 - damping) / n))


@given(relations(), st.sampled_from((0.0, 0.5, 0.85, 0.99)))
def test_it_is_within_the_tolerance_of_the_true_ranks(drawn, damping):
    found = with_rows(build_matrix(Topology(drawn)), LONELY)
    ranks = compute_pagerank(found, damping=damping)
    true = solved(found, damping)
    assert np.abs(ranks.values - true).sum() <= ranks.error + 1e-12 <= TOLERANCE + 1e-12
    assert ranks.values.sum() == pytest.approx(1.0)


@given(relations())
def test_it_agrees_with_networkx(drawn):
    found = with_rows(build_matrix(Topology(drawn)), LONELY)
    expected = nx.pagerank(digraph(drawn, tools=LONELY), tol=1e-14, max_iter=1_000)
    assert compute_pagerank(found).values == pytest.approx(
        [expected[t] for t in found.tools], abs=1e-6
    )


@pytest.mark.parametrize(
    "warm",
    [
        {1: 0.0, 2: 0.0},
        {1: -1.0, 2: 5.0},
        {1: float("nan"), 2: float("inf")},
        {77: 1.0},
    ],
)
def test_ranks_do_not_depend_on_the_starting_values(warm):
    found = build_matrix(Topology([Relation(1, 2, RelationKind.PROVIDES, 1.0)]))
    assert compute_pagerank(found, warm=warm).values == pytest.approx(
        compute_pagerank(found).values, abs=2e-6
    )


@pytest.mark.parametrize("wrong", [{"damping": 1.0}, {"damping": -0.1}, {"tolerance": 1e-15}])
def test_invalid_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match="damping must be"):
        compute_pagerank(build_matrix(Topology()), **wrong)
