import numpy as np

from graph.ranking.recur import as_called
from graph.ranking.set_history import SetHistory
from tests.graph.ranking.drawn_runs import drawn_scored


def called(ordered, runs, similarity, **fields):
    near = np.array(similarity, dtype=np.float32)
    scored = drawn_scored(past=len(runs), similarity=near, **fields)
    return as_called(ordered, scored, SetHistory.of(runs))


def test_without_history_no_tool_recurs():
    assert as_called((1, 2), drawn_scored(), None) == (1, 2)


def test_a_tool_recurs_where_the_similar_runs_of_that_set_called_it_again():
    assert called((2, 1), [(1, 2, 1), (2, 1), (3,)], [0.9, 0.4, 1.0]) == (1, 2, 1)


def test_the_order_stays_where_runs_do_not_agree_how_often():
    assert called((2, 1), [(1, 2, 1), (2, 1), (1, 2, 2)], [0.9, 0.9, 0.9]) == (2, 1)


def test_the_order_stays_where_runs_agree_on_once():
    assert called((2, 1), [(1, 2), (1, 2)], [0.9, 0.9]) == (2, 1)


def test_runs_of_other_sets_do_not_count():
    assert called((2, 1), [(1, 2, 3, 1), (1, 1)], [0.9, 0.9]) == (2, 1)


def test_of_sequences_that_agree_the_likeliest_is_taken():
    runs = [(1, 1, 2), (1, 2, 1), (1, 2, 1)]
    assert called((1, 2), runs, [0.8, 0.8, 0.79]) == (1, 2, 1)


def test_the_run_itself_does_not_count():
    runs = [(1, 2, 1), (3,)]
    assert called((1, 2), runs, [-1.0, 0.5], own=0) == (1, 2)
