import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.suggestion.ranking import order, prior
from graph.suggestion.ranking.order import (
    ORDER_FEATURES,
    OrderEvidence,
    OrderModel,
    repeat_tools_as_called,
)
from graph.suggestion.ranking.set_history import SetHistory
from tests.graph.suggestion.ranking.drawn_runs import TOOLS, drawn_runs, drawn_scored, without_run

PRIOR = prior.load_prior().order
COLUMNS = np.arange(4)


def of_feature(name, values):
    """Make features of pairs in which only one speaks."""
    features = np.zeros((*values.shape, len(ORDER_FEATURES)))
    features[:, :, ORDER_FEATURES.index(name)] = values
    return features


def model(**coefficients):
    row = np.array([coefficients.get(name, 0.0) for name in ORDER_FEATURES])
    return OrderModel(scales=np.ones(len(ORDER_FEATURES)), coefficients=row)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(0, 1_000), st.data())
def test_a_run_is_left_out_of_its_own_features(count, seed, data):
    runs = drawn_runs(count, seed)
    own = data.draw(st.integers(0, count - 1))
    scored = drawn_scored(seed, past=count, own_run=own)
    left_out, rest = without_run(scored, runs)
    as_past = OrderEvidence(scored, SetHistory.from_runs(runs)).compute_features(COLUMNS)
    as_new = OrderEvidence(left_out, SetHistory.from_runs(rest)).compute_features(COLUMNS)
    if count <= order.NEAR_RUNS:
        assert as_past == pytest.approx(as_new, abs=1e-6)
    else:
        assert as_past[:, :, :2] == pytest.approx(as_new[:, :, :2], abs=1e-6)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_the_order_is_the_likeliest_of_all(count):
    odds = np.random.default_rng(count).normal(size=(count, count))
    odds -= odds.T
    likely = -np.logaddexp(0, -odds)

    def worth(chosen):
        return sum(likely[a, b] for a, b in itertools.combinations(chosen, 2))

    best = max(itertools.permutations(range(count)), key=worth)
    assert model(all_runs=1.0).find_likeliest_order(of_feature("all_runs", odds)) == list(best)


def test_many_tools_are_ordered_by_their_summed_log_odds():
    places = np.array([5, 2, 7, 0, 3, 1, 6, 4])
    odds = (places[None] - places[:, None]).astype(float)
    assert (
        model(all_runs=1.0).find_likeliest_order(of_feature("all_runs", odds))
        == np.argsort(places).tolist()
    )


def past_of_one_order(count=40):
    runs = [tuple(TOOLS[:3]) if at % 4 else (TOOLS[5],) for at in range(count)]
    scored = [drawn_scored(at, past=count, own_run=at) for at in range(count)]
    return scored, SetHistory.from_runs(runs)


def test_fitting_learns_that_past_order_holds():
    scored, history = past_of_one_order()
    fitted = order.fit_order_model(scored, history, prior=PRIOR)
    assert fitted.coefficients[0] > PRIOR.select_features(ORDER_FEATURES).coefficients_at(40)[0]
    new = OrderEvidence(drawn_scored(77, past=40), history).compute_features(np.array([2, 0, 1]))
    assert fitted.find_likeliest_order(new) == [1, 2, 0]


def test_a_new_intent_has_no_order_to_teach():
    with pytest.raises(ValueError, match="past runs"):
        order.make_order_pairs(drawn_scored(past=1), SetHistory.from_runs([TOOLS[:2]]))


def called(ordered, runs, similarity, **fields):
    near = np.array(similarity, dtype=np.float32)
    scored = drawn_scored(past=len(runs), similarity=near, **fields)
    return repeat_tools_as_called(ordered, scored, SetHistory.from_runs(runs))


def test_a_tool_repeats_if_similar_runs_of_the_set_repeat_it():
    assert called((2, 1), [(1, 2, 1), (2, 1), (3,)], [0.9, 0.4, 1.0]) == (1, 2, 1)


def test_the_order_stays_if_runs_disagree_on_counts():
    assert called((2, 1), [(1, 2, 1), (2, 1), (1, 2, 2)], [0.9, 0.9, 0.9]) == (2, 1)


def test_the_run_itself_does_not_count():
    runs = [(1, 2, 1), (3,)]
    assert called((1, 2), runs, [-1.0, 0.5], own_run=0) == (1, 2)
