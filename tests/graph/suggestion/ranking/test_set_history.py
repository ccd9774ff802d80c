import numpy as np
import pytest

from graph.suggestion.ranking.set_history import ABSENT, MAX_SET_SIZE, SetHistory

RUNS = [(3, 1), (1, 3), (1, 3), (2,), (2, 1, 2), (9, 8, 7, 6, 5, 4, 3, 2)]


def test_runs_of_the_same_tools_in_any_order_share_a_set():
    history = SetHistory.from_runs(RUNS)
    assert history.set_of.tolist() == [0, 0, 0, 1, 2, 3]
    assert history.counts.tolist() == [3, 1, 1, 1]
    assert history.sizes.tolist() == [2, 1, 2, 8]
    assert history.members_of_set(0).tolist() == [1, 3]


def test_runs_in_the_same_order_share_a_sequence():
    history = SetHistory.from_runs(RUNS)
    assert history.sequence_of.tolist() == [0, 1, 1, 2, 3, 4]
    assert history.sequence_counts.tolist() == [1, 2, 1, 1, 1]
    assert history.sequences[3] == (2, 1, 2)


def test_positions_are_of_the_first_call():
    history = SetHistory.from_runs(RUNS)
    one, two, five = history.find_rows(np.array([1, 2, 5]))
    assert history.positions[[one, two, five], 3].tolist() == [1, 0, ABSENT]


def test_a_tool_that_no_run_called_is_in_no_set():
    history = SetHistory.from_runs(RUNS)
    row = history.find_rows(np.array([77, -1]))
    assert not history.holders[row].any()
    assert (history.positions[row] == ABSENT).all()


def test_sizes_are_counted_up_to_the_largest():
    assert SetHistory.from_runs(RUNS).size_counts.tolist() == [0, 1, 4, 0, 0, 0, 1]
    assert MAX_SET_SIZE == 6


@pytest.mark.parametrize("own", range(len(RUNS)))
def test_a_run_left_out_is_left_out_of_every_count(own):
    history = SetHistory.from_runs(RUNS)
    rest = RUNS[:own] + RUNS[own + 1 :]
    counted = {key: history.counts_without(own)[at] for key, at in history.sets.items()}
    expected = SetHistory.from_runs(rest)
    assert {key: count for key, count in counted.items() if count} == {
        key: expected.counts[at] for key, at in expected.sets.items()
    }
    assert history.size_counts_without(own).tolist() == expected.size_counts.tolist()


def test_runs_of_a_set_are_found_in_any_order():
    history = SetHistory.from_runs(RUNS)
    assert sorted(history.find_runs([3, 1]).tolist()) == [0, 1, 2]
    assert history.find_runs([2, 2, 1]).tolist() == [4]
    assert history.find_runs([1, 2, 3]).tolist() == []


def test_values_of_runs_are_aggregated_by_set():
    history = SetHistory.from_runs(RUNS)
    values = np.arange(6, dtype=float)
    assert history.max_by_set(values).tolist() == [2, 3, 4, 5]
    assert history.sum_by_set(values).tolist() == [3, 3, 4, 5]


@pytest.mark.parametrize("runs", [[], [(1,), ()]])
def test_a_history_needs_runs_that_called_something(runs):
    with pytest.raises(ValueError, match="needs runs"):
        SetHistory.from_runs(runs)
