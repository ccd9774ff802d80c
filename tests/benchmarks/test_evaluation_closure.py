import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evaluation.closure import collect_closure
from graph.relations import RelationKind, is_binding_dependency
from graph.topology import Topology
from tests.graph.drawn import relations


@given(
    relations((RelationKind.DEPENDS_ON, RelationKind.PRECEDES), loops=True),
    st.sets(st.integers(2, 7)),
)
def test_the_closure_is_complete_with_dependencies_first(drawn, unusable):
    topology = Topology(drawn)
    found = collect_closure(topology, 1, usable=lambda tool: tool not in unusable)
    required = [one for one in drawn if is_binding_dependency(one)]
    graph = nx.DiGraph((one.source, one.target) for one in required if one.source not in unusable)
    graph.add_node(1)
    reached = nx.descendants(graph, 1)
    assert set(found.ordered_tools) == reached - unusable
    assert len(found.ordered_tools) == len(set(found.ordered_tools))
    assert set(found.missing) == reached & unusable
    assert found.required_by.keys() == reached
    place = {tool: number for number, tool in enumerate(found.ordered_tools)}
    for one in required:
        if one.source in place and one.target in place and one not in found.dropped_relations:
            assert place[one.target] < place[one.source]
