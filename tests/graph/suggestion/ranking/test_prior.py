import copy

import pytest

from graph.suggestion.ranking import order, prior, set_features, tool_model
from graph.suggestion.ranking.prior import PriorError


def document():
    return copy.deepcopy(prior.to_json(prior.load_prior()))


def test_the_shipped_prior_covers_every_feature_of_every_model():
    shipped = prior.load_prior()
    assert shipped.tools.select_features(tool_model.FEATURES).features == tool_model.FEATURES
    assert (
        shipped.sets.select_features(set_features.SET_FEATURES).features
        == set_features.SET_FEATURES
    )
    assert shipped.order.select_features(order.ORDER_FEATURES).features == order.ORDER_FEATURES
    assert set(shipped.calibration) == set(prior.HISTORY_SIZES)


def test_the_shipped_prior_ignores_history_features_without_history():
    shipped = prior.load_prior()
    assert not shipped.tools.select_features(tool_model.HISTORY_FEATURES).coefficients_at(0).any()
    assert (
        not shipped.sets.select_features(set_features.set_evidence.EVIDENCE_FEATURES)
        .coefficients_at(0)
        .any()
    )


def test_a_prior_that_was_written_reads_the_same():
    again = prior.from_json(document())
    assert prior.to_json(again) == document()
    assert again.learned_on == prior.load_prior().learned_on


def test_features_are_found_by_name_in_any_order():
    tools = prior.load_prior().tools
    turned = tools.select_features(tuple(reversed(tools.features)))
    assert turned.coefficients_at(50).tolist() == tools.coefficients_at(50)[::-1].tolist()
    assert turned.scales.tolist() == tools.scales[::-1].tolist()
    assert turned.intercept_at(50) == tools.intercept_at(50)


def test_a_feature_that_the_prior_does_not_know_is_named():
    with pytest.raises(PriorError, match=r"nothing of the features magic; create it again"):
        prior.load_prior().tools.select_features(("whole_cosine", "magic"))


@pytest.mark.parametrize(
    ("runs", "size"), [(0, 0), (1, 5), (9, 5), (11, 20), (40, 50), (90, 150), (9_999, 150)]
)
def test_a_history_takes_the_prior_of_the_nearest_size(runs, size):
    assert prior.find_nearest_size(runs) == size


def test_a_prior_without_a_part_is_refused():
    broken = document()
    del broken["sets"]
    with pytest.raises(PriorError, match="sets"):
        prior.from_json(broken)


def test_a_prior_with_a_row_too_short_is_refused():
    broken = document()
    broken["tools"]["coefficients"]["20"].pop()
    with pytest.raises(PriorError, match="do not fit"):
        prior.from_json(broken)


def test_a_prior_with_a_scale_of_zero_is_refused():
    broken = document()
    broken["order"]["scales"][0] = 0.0
    with pytest.raises(PriorError, match="do not fit"):
        prior.from_json(broken)


def test_a_prior_without_a_size_is_refused():
    broken = document()
    del broken["tools"]["intercepts"]["50"]
    with pytest.raises(PriorError, match="sizes"):
        prior.from_json(broken)
