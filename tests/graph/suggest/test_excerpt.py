from hypothesis import given
from hypothesis import strategies as st

from graph.relations import Kind, Relation
from graph.suggest import excerpt
from graph.suggest.excerpt import MAX_NEAR, MAX_PAIRED, around, between, ends
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


def test_of_a_tool_with_many_neighbours_the_surest_lead_to_others():
    hubs, others = (1, 2), range(100, 100 + 2 * MAX_NEAR)
    steps = [
        Relation(*ends, Kind.PRECEDES, confidence)
        for number, other in enumerate(others)
        for confidence in [0.1 + 0.5 * number / len(others)]
        for ends in ((hubs[0], other), (other, hubs[1]))
    ]
    known = ends(Topology(steps), hubs)
    assert len(known.ahead[1]) == 2 * MAX_NEAR
    assert between(known) == (others[-1],)


def test_hubs_are_looked_through_in_time_that_does_not_grow_with_their_neighbours(monkeypatch):
    compared = []
    best = excerpt._best

    def counted(shared, *rest):
        compared.append(len(shared))
        return best(shared, *rest)

    monkeypatch.setattr(excerpt, "_best", counted)
    arcs = {tool: dict.fromkeys(range(100, 5100), 0.5) for tool in range(MAX_PAIRED)}
    between(excerpt.Ends(ahead=arcs, behind=arcs))
    assert max(compared) <= MAX_NEAR


def test_arcs_are_copies_that_another_thread_may_read():
    whole = Topology([Relation(1, 8, Kind.PRECEDES, 0.5)])
    known = ends(whole, [1])
    whole.put(Relation(1, 9, Kind.PRECEDES, 0.5))
    assert known.ahead[1] == {8: 0.5}
