import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.algorithms.expand import MIN_CONFIDENCE, ReachedTool, iterate_reached
from graph.relations import PATH_KINDS, Relation, RelationKind
from graph.topology import Topology
from tests.graph.drawn import relations


def together(one, other, confidence):
    return Relation(one, other, RelationKind.OFTEN_USED_WITH, confidence)


CHAIN = Topology([together(1, 2, 0.9), together(2, 3, 0.8), together(3, 4, 1.0)])


def reach(topology, seeds, **rules):
    return list(iterate_reached(topology, seeds, **rules))


def test_two_hops_count_half_and_three_are_excluded():
    near, far = reach(CHAIN, [1])
    assert near == ReachedTool(2, 0.9, 0.9, (1, 2))
    assert (far.tool, far.path) == (3, (1, 2, 3))
    assert (far.rank, far.confidence) == pytest.approx((0.36, 0.72))


def test_paths_below_the_minimum_confidence_are_excluded():
    topology = Topology([together(1, 2, 0.49), together(1, 3, 0.7), together(3, 4, 0.7)])
    assert [one.tool for one in reach(topology, [1])] == [3]


def test_a_relation_is_followed_in_either_direction():
    topology = Topology(
        [Relation(2, 1, RelationKind.DEPENDS_ON, 0.9), Relation(2, 3, RelationKind.PROVIDES, 1.0)]
    )
    assert [one.path for one in reach(topology, [1])] == [(1, 2), (1, 2, 3)]


def test_unusable_tools_are_not_traversed():
    assert reach(CHAIN, [1], usable=lambda tool: tool != 2) == []


def test_given_tools_are_not_returned_and_unknown_ones_are_ignored():
    assert [one.tool for one in reach(CHAIN, [1, 2, 99, 1])] == [3, 4]
    assert reach(Topology(), [1]) == []


GRAPHS = relations(tools=6)
SEEDS = st.lists(st.integers(1, 6), max_size=3)


@given(GRAPHS, SEEDS)
def test_the_best_paths_equal_those_of_brute_force(drawn, seeds):
    found = reach(Topology(drawn), seeds)
    expected = brute_force(drawn, seeds)
    assert [one.tool for one in found] == [one.tool for one in expected]
    for one, best in zip(found, expected, strict=True):
        assert (one.rank, one.confidence) == pytest.approx((best.rank, best.confidence))
    assert found == reach(Topology(reversed(drawn)), seeds)


def test_only_needed_tools_are_checked():
    asked = []
    first = next(iterate_reached(CHAIN, [1], usable=lambda tool: not asked.append(tool)))
    assert (first.tool, asked) == (2, [2])


def brute_force(drawn, seeds):
    arcs = {}
    for one in drawn:
        if one.kind in PATH_KINDS:
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
        if path[0] in seeds and path[-1] not in seeds and confidence >= MIN_CONFIDENCE:
            found = ReachedTool(path[-1], rank, confidence, path)
            known = best.get(path[-1])
            if known is None or order(found) < order(known):
                best[path[-1]] = found
    return sorted(best.values(), key=order)


def order(one):
    return (-one.rank, len(one.path), one.tool, one.path)
