from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from execution.planning.order import MAX_REPORTED_CYCLES, find_cycles, group_layers

IDS = "abcdefgh"
GRAPHS = st.dictionaries(
    st.sampled_from(IDS), st.lists(st.sampled_from(IDS), max_size=4), max_size=len(IDS)
)
"""What each task waits for: cycles, repetitions and unknown ids as they come."""


@given(GRAPHS)
def test_each_task_waits_only_for_layers_before_its_own(waits):
    done = set()
    for layer in group_layers(waits):
        assert all({one for one in waits[task] if one in waits} <= done for task in layer)
        done.update(layer)


@given(GRAPHS)
def test_each_task_stands_in_the_first_layer_it_can(waits):
    found = group_layers(waits)
    for before, layer in pairwise(found):
        assert all(set(waits[task]) & set(before) for task in layer)


@given(GRAPHS)
def test_all_tasks_have_a_layer_unless_there_is_a_cycle(waits):
    placed = [task for layer in group_layers(waits) for task in layer]
    assert len(placed) == len(set(placed))
    assert (set(placed) == waits.keys()) == (not find_cycles(waits))


@given(GRAPHS)
def test_a_cycle_named_is_one(waits):
    for cycle in find_cycles(waits):
        assert len(set(cycle)) == len(cycle)
        for task, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert following in waits[task]


@given(GRAPHS)
def test_no_task_stands_in_two_of_the_cycles_named(waits):
    named = [task for cycle in find_cycles(waits) for task in cycle]
    assert len(named) == len(set(named))


def test_the_shortest_way_around_is_named():
    assert find_cycles({"a": ["b"], "b": ["c", "a"], "c": ["a"]}) == (("a", "b"),)


def test_only_so_many_cycles_are_named():
    assert (
        len(find_cycles({str(one): [str(one)] for one in range(2 * MAX_REPORTED_CYCLES)}))
        == MAX_REPORTED_CYCLES
    )


def test_the_order_given_is_kept_inside_a_layer():
    waits = {"z": [], "a": [], "m": ["a"], "b": ["z"]}
    assert group_layers(waits) == (("z", "a"), ("m", "b"))


def test_a_chain_of_tens_of_thousands_is_no_trouble():
    waits = {str(one): [str(one - 1)] for one in range(30_000)}
    assert len(group_layers(waits)) == 30_000
    waits["0"] = ["29999"]
    assert len(find_cycles(waits)[0]) == 30_000
