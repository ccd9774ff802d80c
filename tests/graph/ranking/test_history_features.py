import numpy as np
import pytest

from graph.ranking.calls import Calls
from graph.ranking.history_features import HISTORY, Evidence, history_features

RUNS = [{0, 1}, {1}, {2}]
CALLS = Calls.of([np.array(sorted(run)) for run in RUNS], width=4)


def evidence(**fields):
    given = {
        "similarity": np.float32([0.9, 0.8, 0.1]),
        "wanted": np.float32([0.5, 0.9, -0.1, -np.inf]),
        "counts": CALLS.counts,
        "size": 2.0,
        "votes": np.float32([[0.2, 0.5, 0, 0], [0.4, 0.1, 0, 0]]),
        "own": None,
    }
    return Evidence(**(given | fields))


def rows(columns, **fields):
    found = history_features(evidence(**fields), CALLS, np.array(columns))
    return [dict(zip(HISTORY, row.tolist(), strict=True)) for row in found]


def test_a_tool_that_runs_called_is_told_of():
    (row,) = rows([0])
    assert row["krr"] == pytest.approx(0.5)
    assert row["krrt"] == pytest.approx(np.log(0.5))
    assert row["krrmax"] == pytest.approx(0.5 / 0.9)
    assert row["krrrank"] == pytest.approx(1 / 2)
    assert row["nearT"] == pytest.approx(0.9)
    assert (row["top1T"], row["nearest"]) == (1, pytest.approx(0.9))
    assert row["pop"] == pytest.approx(np.log(1.5))
    assert row["clnear"] == pytest.approx(0.6)
    assert row["clknn"] == pytest.approx(0.4)
    assert row["knn05"] == pytest.approx(1 / (1 + np.exp(-2) + np.exp(-16)), rel=1e-4)
    assert row["knn10"] == pytest.approx(1 / (1 + np.exp(-1) + np.exp(-8)), rel=1e-4)
    assert row["cooc"] == pytest.approx(0.9 * 1 / (2 + 3) / (1.4 + 0.3))


def test_a_tool_that_no_run_called_is_told_nothing_of():
    (row,) = rows([-1])
    told = {name: value for name, value in row.items() if value}
    assert told.keys() == {"krrt", "nearest", "pop", "krrrank"}
    assert told["krrt"] == pytest.approx(np.log(0.003))
    assert told["pop"] == pytest.approx(np.log(0.5))
    assert told["krrrank"] == pytest.approx(1 / 3)


def test_a_tool_that_only_the_intent_itself_called_is_as_one_that_none_did():
    known, unknown = rows([3, -1])
    assert known == unknown


def test_a_run_that_is_left_out_is_not_its_own_nearest():
    (row,) = rows([0], similarity=np.float32([-1, -1, -1]), own=0)
    assert row["top1T"] == 0


def test_a_tool_wanted_less_than_nothing_comes_after_the_others():
    (row,) = rows([2])
    assert row["krrrank"] == pytest.approx(1 / 3)
    assert row["krrt"] == pytest.approx(np.log(0.003))
