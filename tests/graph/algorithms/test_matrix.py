from hypothesis import given

from graph.algorithms.matrix import build_matrix
from graph.topology import Topology
from tests.graph.drawn import arcs_of, relations


def entries(found):
    arcs = found.weights.tocoo()
    tools = found.tools.tolist()
    return {
        (tools[row], tools[column]): weight
        for row, column, weight in zip(arcs.row, arcs.col, arcs.data, strict=True)
    }


@given(relations())
def test_the_matrix_has_the_most_confident_arc_of_path_kinds(drawn):
    found = build_matrix(Topology(drawn))
    assert entries(found) == arcs_of(drawn)
    assert found.tools.tolist() == sorted({end for one in drawn for end in one[:2]})
