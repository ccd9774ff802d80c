import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from graph.algorithms.closure import collect_closure
from graph.relations import EvidenceSource, Relation, RelationKind, is_binding_dependency
from graph.topology import Topology
from tests.graph.drawn import relations


def needs(source, target, confidence=1.0, *, required=True):
    return Relation(source, target, RelationKind.DEPENDS_ON, confidence, required)


def test_transitive_dependencies_are_returned_first():
    found = collect_closure(Topology([needs(1, 2), needs(2, 3), needs(1, 4), needs(4, 3)]), 1)
    assert found.ordered_tools == (3, 2, 4)
    assert found.required_by == {2: 1, 4: 1, 3: 2}
    assert (found.missing, found.dropped_relations) == ((), ())


def test_optional_dependencies_and_other_relations_are_excluded():
    topology = Topology([needs(1, 2, required=False), Relation(3, 1, RelationKind.PROVIDES, 1.0)])
    assert collect_closure(topology, 1).ordered_tools == ()


def test_unlikely_dependencies_are_excluded_unless_curated():
    unlikely, said = (
        needs(1, 2, 0.49),
        needs(1, 3, 0.3)._replace(sources=(EvidenceSource.CURATED,)),
    )
    assert collect_closure(Topology([unlikely, said, needs(1, 4, 0.5)]), 1).ordered_tools == (3, 4)


def test_unusable_tools_are_reported_missing_and_not_traversed():
    topology = Topology([needs(1, 2), needs(2, 3), needs(1, 4), needs(4, 2)])
    found = collect_closure(topology, 1, usable=lambda tool: tool != 2)
    assert (found.ordered_tools, found.missing, found.required_by) == ((4,), (2,), {2: 1, 4: 1})


def test_an_unknown_tool_requires_nothing():
    assert collect_closure(Topology(), 1).ordered_tools == ()


def test_a_self_dependency_is_reported_and_ignored():
    found = collect_closure(Topology([needs(1, 1), needs(1, 2)]), 1)
    assert (found.ordered_tools, found.dropped_relations) == ((2,), (needs(1, 1),))


def test_a_chain_of_thousands_is_no_recursion():
    chain = Topology(needs(tool, tool + 1) for tool in range(5_000))
    assert collect_closure(chain, 0).ordered_tools == tuple(range(5_000, 0, -1))


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


@given(relations((RelationKind.DEPENDS_ON,), loops=True))
def test_the_weakest_relation_of_a_cycle_is_dropped(drawn):
    topology = Topology(drawn)
    found = collect_closure(topology, 1)
    members = {1, *found.ordered_tools}
    inside = [
        one for one in drawn if is_binding_dependency(one) and {one.source, one.target} <= members
    ]
    for one in found.dropped_relations:
        assert_weakest_of_a_cycle(one, inside)


def assert_weakest_of_a_cycle(one, relations):
    graph = nx.DiGraph()
    graph.add_nodes_from([one.source, one.target])
    graph.add_edges_from(
        (other.source, other.target)
        for other in relations
        if (is_binding_dependency(other), other.confidence)
        >= (is_binding_dependency(one), one.confidence)
    )
    assert nx.has_path(graph, one.target, one.source)
