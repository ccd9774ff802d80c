import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.contradictions import find_broken_cycles, find_contradictions
from graph.relations import Relation, RelationKind
from graph.topology import Topology

A, B, C = 1, 2, 3
NAMES = {A: "git:add", B: "git:commit", C: "git:push"}


def relation(source, target, kind, confidence=0.9, *, required=True):
    return Relation(source, target, kind, confidence, required)


def messages(*relations):
    return [found.message for found in find_contradictions(relations, name=NAMES.__getitem__)]


@pytest.mark.parametrize("excluding", [(A, B), (B, A)])
@pytest.mark.parametrize("requiring", [(A, B), (B, A)])
def test_tools_that_exclude_each_other_cannot_require_each_other(excluding, requiring):
    first, second = (NAMES[tool] for tool in requiring)
    assert messages(
        relation(*excluding, RelationKind.MUTUALLY_EXCLUSIVE),
        relation(*requiring, RelationKind.DEPENDS_ON),
    ) == [f"{first} cannot both require {second} and exclude it: keep one of the two"]


def test_an_optional_dependency_may_be_excluded():
    assert not messages(
        relation(A, B, RelationKind.MUTUALLY_EXCLUSIVE),
        relation(A, B, RelationKind.DEPENDS_ON, required=False),
    )


def test_what_can_hold_together_is_left_alone():
    assert not messages(
        relation(A, B, RelationKind.REPLACES),
        relation(B, C, RelationKind.REPLACES),
        relation(A, B, RelationKind.DEPENDS_ON),
        relation(B, A, RelationKind.DEPENDS_ON),
        relation(A, C, RelationKind.MUTUALLY_EXCLUSIVE),
    )


def test_the_weakest_dependency_of_a_cycle_is_named():
    round_trip = [
        relation(A, B, RelationKind.DEPENDS_ON),
        relation(B, C, RelationKind.DEPENDS_ON, 0.4),
        relation(C, A, RelationKind.DEPENDS_ON),
    ]
    [cycle] = find_broken_cycles(round_trip, name=NAMES.__getitem__)
    assert cycle.dropped_relation == round_trip[1]
    assert cycle.message.startswith("git:commit depends on git:push, which depends on it in turn")
    assert "(0.4) is dropped" in cycle.message


pairs = st.tuples(st.integers(1, 5), st.integers(1, 5)).filter(lambda pair: pair[0] != pair[1])
relations = st.builds(
    lambda pair, kind, confidence, required: Relation(*pair, kind, confidence, required),
    pairs,
    st.sampled_from(RelationKind),
    st.floats(0, 1),
    st.booleans(),
)


@given(stated=st.lists(relations, unique_by=lambda one: one.key))
def test_nothing_contradicts_once_one_of_each_pair_is_gone(stated):
    topology = Topology(stated)
    while found := find_contradictions(topology.iterate_relations()):
        topology = topology.with_changes({found[0].first.key: None})
    for one in topology.iterate_relations():
        if one.kind is RelationKind.DEPENDS_ON and one.required:
            assert topology.get(one.source, one.target, RelationKind.MUTUALLY_EXCLUSIVE) is None
    kept = topology.iterate_relations()
    dropped = {cycle.dropped_relation.key for cycle in find_broken_cycles(kept)}
    assert not find_broken_cycles(one for one in kept if one.key not in dropped)
