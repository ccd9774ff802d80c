import numpy as np

from graph.suggestion.ranking.repetition import repeat_tools_as_called
from graph.suggestion.ranking.set_history import SetHistory
from tests.graph.suggestion.ranking.drawn_runs import drawn_scored


def called(ordered, runs, similarity, **fields):
    near = np.array(similarity, dtype=np.float32)
    scored = drawn_scored(past=len(runs), similarity=near, **fields)
    return repeat_tools_as_called(ordered, scored, SetHistory.from_runs(runs))


def test_without_history_no_tool_repeats():
    assert repeat_tools_as_called((1, 2), drawn_scored(), None) == (1, 2)


def test_a_tool_repeats_if_similar_runs_of_the_set_repeat_it():
    assert called((2, 1), [(1, 2, 1), (2, 1), (3,)], [0.9, 0.4, 1.0]) == (1, 2, 1)


def test_the_order_stays_if_runs_disagree_on_counts():
    assert called((2, 1), [(1, 2, 1), (2, 1), (1, 2, 2)], [0.9, 0.9, 0.9]) == (2, 1)


def test_the_order_stays_if_runs_agree_on_single_calls():
    assert called((2, 1), [(1, 2), (1, 2)], [0.9, 0.9]) == (2, 1)


def test_runs_of_other_sets_do_not_count():
    assert called((2, 1), [(1, 2, 3, 1), (1, 1)], [0.9, 0.9]) == (2, 1)


def test_the_likeliest_of_agreeing_sequences_is_taken():
    runs = [(1, 1, 2), (1, 2, 1), (1, 2, 1)]
    assert called((1, 2), runs, [0.8, 0.8, 0.79]) == (1, 2, 1)


def test_the_run_itself_does_not_count():
    runs = [(1, 2, 1), (3,)]
    assert called((1, 2), runs, [-1.0, 0.5], own_run=0) == (1, 2)
