import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.algorithms.expand import ReachedTool, expand_tools, iterate_reached
from graph.relations import PATH_KINDS, Relation, RelationKind
from graph.topology import Topology
from tests.graph.drawn import relations


def together(one, other, confidence):
    return Relation(one, other, RelationKind.OFTEN_USED_WITH, confidence)


CHAIN = Topology([together(1, 2, 0.9), together(2, 3, 0.8), together(3, 4, 1.0)])


def test_two_hops_count_half_and_three_are_excluded():
    near, far = expand_tools(CHAIN, [1])
    assert near == ReachedTool(2, 0.9, 0.9, (1, 2))
    assert (far.tool, far.path) == (3, (1, 2, 3))
    assert (far.rank, far.confidence) == pytest.approx((0.36, 0.72))


def test_paths_below_the_minimum_confidence_are_excluded():
    topology = Topology([together(1, 2, 0.49), together(1, 3, 0.7), together(3, 4, 0.7)])
    assert [one.tool for one in expand_tools(topology, [1])] == [3]
    assert [one.tool for one in expand_tools(topology, [1], least=0.4)] == [3, 2, 4]


def test_a_relation_is_followed_in_either_direction():
    topology = Topology(
        [Relation(2, 1, RelationKind.DEPENDS_ON, 0.9), Relation(2, 3, RelationKind.PROVIDES, 1.0)]
    )
    assert [one.path for one in expand_tools(topology, [1])] == [(1, 2), (1, 2, 3)]


def test_other_kinds_are_followed_on_request():
    topology = Topology([Relation(2, 1, RelationKind.ALTERNATIVE_TO, 0.9), together(1, 3, 0.9)])
    assert [one.tool for one in expand_tools(topology, [1])] == [3]
    found = expand_tools(topology, [1], kinds=[RelationKind.ALTERNATIVE_TO])
    assert [one.tool for one in found] == [2]


def test_hidden_tools_may_be_traversed_but_unusable_ones_not():
    assert [r.tool for r in expand_tools(CHAIN, [1], allowed=lambda tool: tool != 2)] == [3]
    assert expand_tools(CHAIN, [1], usable=lambda tool: tool != 2) == []


def test_given_tools_are_not_returned_and_unknown_ones_are_ignored():
    assert [one.tool for one in expand_tools(CHAIN, [1, 2, 99, 1])] == [3, 4]
    assert expand_tools(Topology(), [1]) == []


GRAPHS = relations(tools=6)
SEEDS = st.lists(st.integers(1, 6), max_size=3)


@given(
    GRAPHS,
    SEEDS,
    st.sampled_from((0.2, 0.5, 0.6)),
    st.sampled_from((PATH_KINDS, tuple(RelationKind))),
)
def test_the_best_paths_equal_those_of_brute_force(drawn, seeds, least, kinds):
    found = expand_tools(Topology(drawn), seeds, kinds=kinds, least=least)
    expected = brute_force(drawn, seeds, kinds, least)
    assert [one.tool for one in found] == [one.tool for one in expected]
    for one, best in zip(found, expected, strict=True):
        assert (one.rank, one.confidence) == pytest.approx((best.rank, best.confidence))
    assert found == expand_tools(Topology(reversed(drawn)), seeds, kinds=kinds, least=least)


def test_only_needed_tools_are_checked():
    asked = []
    first = next(iterate_reached(CHAIN, [1], allowed=lambda tool: not asked.append(tool)))
    assert (first.tool, asked) == (2, [2])


def test_second_hops_are_not_explored_if_one_hop_suffices():
    topology, asked = Topology(together(1, tool, 0.9) for tool in range(2, 50)), []
    neighbours = topology.neighbours
    topology.neighbours = lambda tool: asked.append(tool) or neighbours(tool)
    found = iterate_reached(topology, [1])
    assert [next(found).tool for _ in range(5)] == [2, 3, 4, 5, 6]
    assert asked == [1]


def brute_force(drawn, seeds, kinds, least):
    arcs = {}
    for one in drawn:
        if one.kind in kinds:
            for pair in ((one.source, one.target), (one.target, one.source)):
                arcs[pair] = max(arcs.get(pair, 0.0), one.confidence)
    paths = [(arc, sure, sure) for arc, sure in arcs.items()]
    paths += [
        ((*first, second[1]), sure * arcs[second] / 2, sure * arcs[second])
        for first, sure in arcs.items()
        for second in arcs
        if second[0] == first[1]
    ]
    best = {}
    for path, rank, confidence in paths:
        if path[0] in seeds and path[-1] not in seeds and confidence >= least:
            found = ReachedTool(path[-1], rank, confidence, path)
            known = best.get(path[-1])
            if known is None or order(found) < order(known):
                best[path[-1]] = found
    return sorted(best.values(), key=order)


def order(one):
    return (-one.rank, len(one.path), one.tool, one.path)
