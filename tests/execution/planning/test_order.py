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
def test_each_task_is_in_the_earliest_possible_layer(waits):
    found = group_layers(waits)
    for before, layer in pairwise(found):
        assert all(set(waits[task]) & set(before) for task in layer)


@given(GRAPHS)
def test_all_tasks_have_a_layer_unless_there_is_a_cycle(waits):
    placed = [task for layer in group_layers(waits) for task in layer]
    assert len(placed) == len(set(placed))
    assert (set(placed) == waits.keys()) == (not find_cycles(waits))


@given(GRAPHS)
def test_a_reported_cycle_is_a_cycle(waits):
    for cycle in find_cycles(waits):
        assert len(set(cycle)) == len(cycle)
        for task, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            assert following in waits[task]


@given(GRAPHS)
def test_no_task_is_in_two_reported_cycles(waits):
    named = [task for cycle in find_cycles(waits) for task in cycle]
    assert len(named) == len(set(named))


def test_the_number_of_reported_cycles_is_limited():
    assert (
        len(find_cycles({str(one): [str(one)] for one in range(2 * MAX_REPORTED_CYCLES)}))
        == MAX_REPORTED_CYCLES
    )


def test_tasks_in_a_layer_keep_the_given_order():
    waits = {"z": [], "a": [], "m": ["a"], "b": ["z"]}
    assert group_layers(waits) == (("z", "a"), ("m", "b"))


def test_a_chain_of_tens_of_thousands_is_no_trouble():
    waits = {str(one): [str(one - 1)] for one in range(30_000)}
    assert len(group_layers(waits)) == 30_000
    waits["0"] = ["29999"]
    assert len(find_cycles(waits)[0]) == 30_000
