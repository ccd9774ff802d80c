from hypothesis import given
from hypothesis import strategies as st

from graph.relations import Kind, Relation
from graph.suggest.excerpt import around
from graph.topology import Topology
from tests.graph import drawn
from tests.graph.suggest.builders import needs


def test_relations_of_other_tools_are_left_out():
    near = around(Topology([needs(1, 2), needs(7, 8), needs(1, 9, required=False)]), [1])
    assert [one.key[:2] for one in near.relations()] == [(1, 2)]


def test_what_lies_between_two_tools_is_kept_by_its_best_way():
    steps = [
        Relation(1, 8, Kind.PRECEDES, 0.5),
        Relation(8, 2, Kind.PRECEDES, 0.5),
        Relation(1, 9, Kind.PRECEDES, 0.9),
        Relation(9, 2, Kind.PRECEDES, 0.9),
    ]
    assert around(Topology(steps), [1, 2]).tools() == {1, 2, 9}


def test_what_replaces_a_tool_is_kept():
    near = around(Topology([Relation(9, 1, Kind.REPLACES, 1.0), needs(1, 2)]), [1])
    assert near.get(9, 1, Kind.REPLACES) is not None


@given(drawn.relations(), st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_all_relations_among_the_tools_are_there(relations: list[Relation], tools: list[int]):
    whole = Topology(relations)
    near = around(whole, tools)
    assert list(near.among(tools)) == list(whole.among(tools))
    assert {one.key for one in near.relations()} <= {one.key for one in relations}
