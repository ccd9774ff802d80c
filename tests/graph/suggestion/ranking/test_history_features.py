import numpy as np
import pytest

from graph.suggestion.ranking.history_features import (
    HISTORY_FEATURES,
    HistoryEvidence,
    compute_history_features,
)
from graph.suggestion.ranking.past_calls import PastCalls

RUNS = [{0, 1}, {1}, {2}]
CALLS = PastCalls.from_runs([np.array(sorted(run)) for run in RUNS], width=4)


def evidence(**fields):
    given = {
        "similarity": np.float32([0.9, 0.8, 0.1]),
        "wanted_scores": np.float32([0.5, 0.9, -0.1, -np.inf]),
        "counts": CALLS.call_counts,
        "predicted_size": 2.0,
        "votes": np.float32([[0.2, 0.5, 0, 0], [0.4, 0.1, 0, 0]]),
        "own_run": None,
    }
    return HistoryEvidence(**(given | fields))


def rows(columns, **fields):
    found = compute_history_features(evidence(**fields), CALLS, np.array(columns))
    return [dict(zip(HISTORY_FEATURES, row.tolist(), strict=True)) for row in found]


def test_a_called_tool_has_history_features():
    (row,) = rows([0])
    assert row["score"] == pytest.approx(0.5)
    assert row["log_score"] == pytest.approx(np.log(0.5))
    assert row["relative_score"] == pytest.approx(0.5 / 0.9)
    assert row["score_rank"] == pytest.approx(1 / 2)
    assert row["tool_similarity"] == pytest.approx(0.9)
    assert (row["in_nearest_run"], row["run_similarity"]) == (1, pytest.approx(0.9))
    assert row["log_calls"] == pytest.approx(np.log(1.5))
    assert row["clause_votes"] == pytest.approx(0.6)
    assert row["best_clause_vote"] == pytest.approx(0.4)
    assert row["close_votes"] == pytest.approx(1 / (1 + np.exp(-2) + np.exp(-16)), rel=1e-4)
    assert row["wide_votes"] == pytest.approx(1 / (1 + np.exp(-1) + np.exp(-8)), rel=1e-4)
    assert row["companion_score"] == pytest.approx(0.9 * 1 / (2 + 3) / (1.4 + 0.3))


def test_an_uncalled_tool_has_no_history_features():
    (row,) = rows([-1])
    told = {name: value for name, value in row.items() if value}
    assert told.keys() == {"log_score", "run_similarity", "log_calls", "score_rank"}
    assert told["log_score"] == pytest.approx(np.log(0.003))
    assert told["log_calls"] == pytest.approx(np.log(0.5))
    assert told["score_rank"] == pytest.approx(1 / 3)


def test_a_tool_called_only_by_the_own_run_counts_as_uncalled():
    known, unknown = rows([3, -1])
    assert known == unknown


def test_a_run_that_is_left_out_is_not_its_own_nearest():
    (row,) = rows([0], similarity=np.float32([-1, -1, -1]), own_run=0)
    assert row["in_nearest_run"] == 0


def test_a_negative_score_ranks_last():
    (row,) = rows([2])
    assert row["score_rank"] == pytest.approx(1 / 3)
    assert row["log_score"] == pytest.approx(np.log(0.003))
