import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.enhance.order import order_for_running
from graph.relations import EvidenceSource, Relation, RelationKind
from graph.topology import Topology
from tests.graph.drawn import assert_weakest_of_a_cycle, relations


def test_unconstrained_tools_keep_the_given_order():
    others = [
        Relation(1, 2, kind, 1.0)
        for kind in RelationKind
        if kind
        not in {
            RelationKind.DEPENDS_ON,
            RelationKind.PROVIDES,
            RelationKind.PRECEDES,
            RelationKind.VALIDATES,
        }
    ]
    found = order_for_running(Topology(others), [2, 5, 1])
    assert (found.tools, found.is_constrained) == ((2, 5, 1), False)


def test_only_relations_among_the_tools_count():
    needs = [
        Relation(1, 2, RelationKind.DEPENDS_ON, 1.0),
        Relation(2, 3, RelationKind.DEPENDS_ON, 1.0),
    ]
    assert order_for_running(Topology(needs), [1, 3]).tools == (1, 3)


def test_dependencies_outweigh_habits_and_the_more_confident_of_habit_and_data_flow_counts():
    topology = Topology(
        [
            Relation(1, 2, RelationKind.DEPENDS_ON, 0.1),
            Relation(1, 2, RelationKind.PRECEDES, 1.0),
            Relation(3, 4, RelationKind.PRECEDES, 0.8),
            Relation(4, 3, RelationKind.PROVIDES, 0.9),
            Relation(6, 5, RelationKind.VALIDATES, 0.9),
            Relation(6, 5, RelationKind.PRECEDES, 0.8),
        ]
    )
    found = order_for_running(topology, [1, 2, 3, 4, 6, 5])
    assert (found.tools, found.dropped_relations) == ((2, 1, 4, 3, 5, 6), ())


@pytest.mark.parametrize(
    "source", [EvidenceSource.CURATED, EvidenceSource.IMPORTED, EvidenceSource.OBSERVED]
)
def test_schema_evidence_never_outweighs_other_evidence(source):
    detail = {"successes": 1.0, "failures": 3.0} if source is EvidenceSource.OBSERVED else {}
    topology = Topology(
        [
            Relation(1, 2, RelationKind.PROVIDES, 0.99, sources=(EvidenceSource.SCHEMA,)),
            Relation(2, 1, RelationKind.PRECEDES, 0.2, sources=(source,), detail=detail),
        ]
    )
    assert order_for_running(topology, [1, 2]).tools == (2, 1)


@given(relations(loops=True), st.lists(st.integers(1, 7), unique=True))
def test_any_relations_give_a_valid_order(drawn, tools):
    found = order_for_running(Topology(drawn), tools)
    assert sorted(found.tools) == sorted(tools)
    place = {tool: number for number, tool in enumerate(found.tools)}
    hard = [
        one
        for one in drawn
        if one.kind is RelationKind.DEPENDS_ON and one.source in place and one.target in place
    ]
    assert all(one in hard for one in found.dropped_relations)
    for one in hard:
        if one in found.dropped_relations:
            assert_weakest_of_a_cycle(one, hard)
        else:
            assert place[one.target] < place[one.source]


@given(relations(), st.permutations(range(1, 8)))
def test_the_given_order_changes_only_because_of_relations(drawn, tools):
    found = order_for_running(Topology(drawn), tools).tools
    joined = nx.Graph((one.source, one.target) for one in drawn)
    joined.add_nodes_from(tools)
    parts = list(nx.connected_components(joined))
    for part in parts:
        if len(part) == 1:
            (alone,) = part
            ahead = set(tools[: tools.index(alone)])
            free = {tool for tool in ahead if len(nx.node_connected_component(joined, tool)) == 1}
            assert free <= set(found[: found.index(alone)])


@given(relations())
def test_the_order_does_not_depend_on_how_the_relations_were_loaded(drawn):
    tools = [3, 1, 4, 2, 7, 6, 5]
    assert order_for_running(Topology(drawn), tools) == order_for_running(
        Topology(reversed(drawn)), tools
    )
