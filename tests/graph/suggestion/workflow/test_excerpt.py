from hypothesis import given
from hypothesis import strategies as st

from graph.relations import Relation, RelationKind
from graph.suggestion.workflow.excerpt import (
    MAX_NEIGHBOURS,
    copy_surroundings,
    find_intermediate_tools,
)
from graph.topology import Topology
from tests.graph import drawn
from tests.graph.suggestion.workflow.builders import needs


def test_relations_of_other_tools_are_left_out():
    near = copy_surroundings(
        Topology([needs(1, 2), needs(7, 8), needs(1, 9, required=False)]), [1]
    )
    assert [one.key[:2] for one in near.iterate_relations()] == [(1, 2)]


def test_the_best_intermediate_tool_is_kept():
    steps = [
        Relation(1, 8, RelationKind.PRECEDES, 0.5),
        Relation(8, 2, RelationKind.PRECEDES, 0.5),
        Relation(1, 9, RelationKind.PRECEDES, 0.9),
        Relation(9, 2, RelationKind.PRECEDES, 0.9),
    ]
    assert copy_surroundings(Topology(steps), [1, 2]).collect_tools() == {1, 2, 9}


def test_replacements_are_kept():
    near = copy_surroundings(
        Topology([Relation(9, 1, RelationKind.REPLACES, 1.0), needs(1, 2)]), [1]
    )
    assert near.get(9, 1, RelationKind.REPLACES) is not None


@given(drawn.relations(), st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_all_relations_among_the_tools_are_copied(relations: list[Relation], tools: list[int]):
    whole = Topology(relations)
    near = copy_surroundings(whole, tools)
    assert list(near.relations_among(tools)) == list(whole.relations_among(tools))
    assert {one.key for one in near.iterate_relations()} <= {one.key for one in relations}


def test_only_the_most_confident_neighbours_are_considered():
    hubs, others = (1, 2), range(100, 100 + 2 * MAX_NEIGHBOURS)
    steps = [
        Relation(*ends, RelationKind.PRECEDES, confidence)
        for number, other in enumerate(others)
        for confidence in [0.1 + 0.5 * number / len(others)]
        for ends in ((hubs[0], other), (other, hubs[1]))
    ]
    whole = Topology(steps)
    assert len(whole.successors(1)) == 2 * MAX_NEIGHBOURS
    assert find_intermediate_tools(whole, hubs) == (others[-1],)
