import networkx as nx
import pytest
from hypothesis import given

from graph.algorithms.cycles import break_cycles, reduce_transitively
from graph.relations import RelationKind
from tests.graph.drawn import relations


@given(relations((RelationKind.DEPENDS_ON,), tools=9, most=40))
def test_the_reduction_equals_that_of_networkx(drawn):
    arcs = [(one.source, one.target) for one in break_cycles(drawn).kept_relations]
    expected = nx.transitive_reduction(nx.DiGraph(arcs))
    kept = reduce_transitively(arcs)
    assert set(kept) == set(expected.edges)
    assert kept == [arc for arc in arcs if arc in expected.edges]


def test_a_cycle_has_no_single_reduction():
    with pytest.raises(ValueError, match="cycle"):
        reduce_transitively([(1, 2), (2, 1)])
