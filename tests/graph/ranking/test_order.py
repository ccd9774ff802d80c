import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.ranking import order, prior
from graph.ranking.order import FEATURES, OrderEvidence, OrderModel
from graph.ranking.set_history import SetHistory
from tests.graph.ranking.drawn_runs import TOOLS, drawn_runs, drawn_scored, without_run

PRIOR = prior.load().order
COLUMNS = np.arange(4)


def of_feature(name, values):
    """Make features of pairs in which only one speaks."""
    features = np.zeros((*values.shape, len(FEATURES)))
    features[:, :, FEATURES.index(name)] = values
    return features


def model(**coefficients):
    row = np.array([coefficients.get(name, 0.0) for name in FEATURES])
    return OrderModel(scales=np.ones(len(FEATURES)), coefficients=row)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(0, 1_000), st.data())
def test_what_a_run_did_itself_is_left_out_of_its_own_features(count, seed, data):
    runs = drawn_runs(count, seed)
    own = data.draw(st.integers(0, count - 1))
    scored = drawn_scored(seed, past=count, own=own)
    left_out, rest = without_run(scored, runs)
    as_past = OrderEvidence(scored, SetHistory.of(runs)).features(COLUMNS)
    as_new = OrderEvidence(left_out, SetHistory.of(rest)).features(COLUMNS)
    if count <= order.NEAR_RUNS:
        assert as_past == pytest.approx(as_new, abs=1e-6)
    else:
        assert as_past[:, :, :2] == pytest.approx(as_new[:, :, :2], abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(0, 1_000))
def test_what_speaks_for_one_first_speaks_as_much_against_the_other(count, seed):
    scored = drawn_scored(seed, past=count)
    features = OrderEvidence(scored, SetHistory.of(drawn_runs(count, seed))).features(COLUMNS)
    assert features == pytest.approx(-features.transpose(1, 0, 2))


def test_runs_that_called_one_before_the_other_are_counted():
    first, second, third = TOOLS[:3]
    runs = [(first, second), (first, third, second), (second, first), (first, third)]
    near = np.array([0.9, 0.8, 0.7, 0.2], dtype=np.float32)
    scored = drawn_scored(past=4, similarity=near)
    told = OrderEvidence(scored, SetHistory.of(runs)).features(np.array([0, 1]))[0, 1]
    weights = np.exp((near.astype(float) - 0.8) / 0.1)
    assert told[0] == pytest.approx(np.log(2.4 / 1.4))
    assert told[1] == pytest.approx(np.log(1.4 / 1.4))
    assert told[2] == pytest.approx(np.log((weights[:2].sum() + 0.3) / (weights[2] + 0.3)))


def test_a_tool_called_again_counts_where_it_was_called_first():
    runs = [(TOOLS[0], TOOLS[1], TOOLS[0])]
    scored = drawn_scored(past=1)
    told = OrderEvidence(scored, SetHistory.of(runs)).features(np.array([0, 1]))
    assert told[0, 1, 0] == pytest.approx(np.log(1.4 / 0.4))


def test_a_tool_whose_clause_stands_earlier_is_first_without_history():
    cosines = np.array([[0.1, 0.1, 0.9], [0.9, 0.1, 0.1], [0.1, 0.8, 0.1]], dtype=np.float32)
    scored = drawn_scored(
        tools=(1, 2, 3), clause_cosines=cosines, votes=np.zeros((3, 3), dtype=np.float32)
    )
    fitted = order.fit_order_model((), None, prior=PRIOR)
    features = OrderEvidence(scored, None).features(np.arange(3))
    assert fitted.order(features) == [1, 2, 0]


def test_an_intent_of_one_clause_leaves_the_order_as_it_is():
    scored = drawn_scored(clauses=1)
    features = OrderEvidence(scored, None).features(COLUMNS)
    assert not features.any()
    assert order.fit_order_model((), None, prior=PRIOR).order(features) == [0, 1, 2, 3]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_the_order_is_the_likeliest_of_all(count):
    odds = np.random.default_rng(count).normal(size=(count, count))
    odds -= odds.T
    likely = -np.logaddexp(0, -odds)

    def worth(chosen):
        return sum(likely[a, b] for a, b in itertools.combinations(chosen, 2))

    best = max(itertools.permutations(range(count)), key=worth)
    assert model(prec=1.0).order(of_feature("prec", odds)) == list(best)


def test_many_tools_are_ordered_by_how_surely_each_precedes_the_others():
    places = np.array([5, 2, 7, 0, 3, 1, 6, 4])
    odds = (places[None] - places[:, None]).astype(float)
    assert model(prec=1.0).order(of_feature("prec", odds)) == np.argsort(places).tolist()


@pytest.mark.parametrize("count", [0, 1])
def test_one_tool_needs_no_order(count):
    assert model().order(np.zeros((count, count, len(FEATURES)))) == list(range(count))


def past_of_one_order(count=40):
    runs = [tuple(TOOLS[:3]) if at % 4 else (TOOLS[5],) for at in range(count)]
    scored = [drawn_scored(at, past=count, own=at) for at in range(count)]
    return scored, SetHistory.of(runs)


def test_fitting_learns_that_past_order_holds():
    scored, history = past_of_one_order()
    fitted = order.fit_order_model(scored, history, prior=PRIOR)
    assert fitted.coefficients[0] > PRIOR.of(FEATURES).at(40)[0]
    new = OrderEvidence(drawn_scored(77, past=40), history).features(np.array([2, 0, 1]))
    assert fitted.order(new) == [1, 2, 0]


def test_only_runs_of_several_tools_teach_order():
    scored, history = past_of_one_order()
    assert len(order.order_pairs(scored[0], history)) == 0
    assert len(order.order_pairs(scored[1], history)) == 3
    nothing = order.fit_order_model(scored[:1], history, prior=PRIOR)
    assert nothing.coefficients == pytest.approx(PRIOR.of(FEATURES).at(40))


def test_tools_that_were_not_scored_teach_no_order():
    history = SetHistory.of([(TOOLS[0], 999)])
    assert len(order.order_pairs(drawn_scored(past=1, own=0), history)) == 0


def test_a_new_intent_has_no_order_to_teach():
    with pytest.raises(ValueError, match="past runs"):
        order.order_pairs(drawn_scored(past=1), SetHistory.of([TOOLS[:2]]))


def test_a_feature_left_out_says_nothing():
    scored, history = past_of_one_order()
    fitted = order.fit_order_model(scored, history, prior=PRIOR, without={"prec", "clpos"})
    assert [bool(value) for value in fitted.coefficients] == [False, True, True, False, True]
    less = fitted.without({"prek"})
    assert [bool(value) for value in less.coefficients] == [False, True, False, False, True]
