import threading
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from graph.relations import Relation, RelationKind, is_binding_dependency
from graph.topology import Topology
from tests.graph.drawn import CONFIDENCES, arcs_of, relations

TOOLS = range(1, 5)
NEEDS = Relation(1, 2, RelationKind.DEPENDS_ON, 0.9)
FEEDS = Relation(1, 2, RelationKind.PROVIDES, 0.6)
TOGETHER = Relation(3, 1, RelationKind.OFTEN_USED_WITH, 0.8)


def steps():
    """Relations put and taken out, and tools looked at in between, in any order."""
    tool = st.sampled_from(TOOLS)
    ends = st.tuples(tool, tool).filter(lambda pair: pair[0] != pair[1])
    key = st.builds(lambda pair, kind: (*pair, kind), ends, st.sampled_from(RelationKind))
    put = st.builds(lambda key, sure: ("put", Relation(*key, sure)), key, CONFIDENCES)
    return st.lists(
        st.one_of(put, st.tuples(st.just("discard"), key), st.tuples(st.just("look"), tool)),
        max_size=40,
    )


@given(steps())
def test_the_topology_contains_exactly_the_added_relations(drawn):
    topology, expected = Topology(), {}
    for what, value in drawn:
        if what == "put":
            topology = topology.with_changes({value.key: value})
            expected[value.key] = value
        elif what == "discard":
            topology = topology.with_changes({value: None})
            expected.pop(value, None)
        else:
            for look in (topology.successors, topology.predecessors, topology.neighbours):
                look(value)
    check(topology, list(expected.values()))


def check(topology, expected):
    """Compare every answer with one looked up in a plain list."""
    assert sorted(topology.iterate_relations()) == sorted(expected)
    assert len(topology) == len(expected)
    assert topology.collect_tools() == {end for one in expected for end in one[:2]}
    for tool in TOOLS:
        check_relations(topology, tool, [one for one in expected if tool in one[:2]])
        check_arcs(topology, tool, arcs_of(expected))


def check_relations(topology, tool, touching):
    assert sorted(topology.relations_of(tool)) == sorted(touching)
    assert (tool in topology) == bool(touching)
    for kind in RelationKind:
        alike = [one for one in touching if one.kind is kind]
        both_ways = kind.traits.is_symmetric
        into = [one for one in alike if both_ways or one.target == tool]
        assert sorted(topology.incoming_relations(tool, kind)) == sorted(into)
        for one in alike:
            if both_ways or one.source == tool:
                assert topology.get(tool, one.target if one.source == tool else one.source, kind)
    assert sorted(topology.required_relations(tool)) == sorted(
        one for one in touching if one.source == tool and is_binding_dependency(one)
    )


def check_arcs(topology, tool, arcs):
    ahead = {end: best for (start, end), best in arcs.items() if start == tool}
    behind = {start: best for (start, end), best in arcs.items() if end == tool}
    assert topology.successors(tool) == ahead
    assert topology.predecessors(tool) == behind
    around = {
        other: max(ahead.get(other, 0.0), behind.get(other, 0.0)) for other in ahead | behind
    }
    in_order = sorted(around.items(), key=lambda arc: (-arc[1], arc[0]))
    assert list(topology.neighbours(tool).items()) == in_order


@given(relations(tools=4), relations(tools=4))
def test_changes_leave_the_topology_they_were_made_from_as_it_was(drawn, later):
    before = Topology(drawn)
    for tool in TOOLS[:2]:
        before.neighbours(tool)
    changes = dict.fromkeys(one.key for one in drawn[::2]) | {one.key: one for one in later}
    after = before.with_changes(changes)
    check(before, drawn)
    expected = {one.key: one for one in drawn} | changes
    check(after, [one for one in expected.values() if one is not None])


def test_threads_that_read_at_once_see_the_same():
    drawn = [Relation(1, tool, RelationKind.PRECEDES, 1 / tool) for tool in range(2, 2_000)]
    topology, start = Topology(drawn).with_changes({FEEDS.key: FEEDS}), threading.Barrier(4)

    def read(_):
        start.wait()
        return [
            (topology.successors(tool), topology.neighbours(tool), *topology.relations_of(tool))
            for tool in range(1, 2_000)
        ]

    with ThreadPoolExecutor(4) as threads:
        first, *others = threads.map(read, range(4))
    assert all(other == first for other in others)
    assert topology.successors(1)[2] == FEEDS.confidence


def test_a_symmetric_relation_is_found_in_either_direction():
    topology = Topology([TOGETHER])
    assert topology.get(1, 3, RelationKind.OFTEN_USED_WITH) is TOGETHER
    assert topology.get(3, 1, RelationKind.OFTEN_USED_WITH) is TOGETHER
    assert Topology([NEEDS]).get(2, 1, RelationKind.DEPENDS_ON) is None
    assert topology.successors(1) == {3: 0.8}


def test_relations_among_given_tools_exclude_others():
    topology = Topology([NEEDS, FEEDS, TOGETHER])
    assert sorted(topology.relations_among([2, 1])) == sorted([NEEDS, FEEDS])
    assert list(topology.relations_among([1])) == []
    assert list(topology.relations_between(1, 3)) == [TOGETHER]
    assert list(topology.relations_between(3, 1)) == [TOGETHER]
