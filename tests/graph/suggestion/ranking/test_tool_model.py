import numpy as np
import pytest

from graph.suggestion.ranking import candidates as candidates_module
from graph.suggestion.ranking import tool_model
from graph.suggestion.ranking.candidates import FEATURES, describe_candidates
from graph.suggestion.ranking.logistic import compute_sigmoid
from graph.suggestion.ranking.past_intents import PastIntents
from graph.suggestion.ranking.prior import HISTORY_SIZES, LinearPrior, PriorError, load_prior
from graph.suggestion.ranking.static_features import STATIC_FEATURES, compare_intent
from graph.suggestion.ranking.tool_model import (
    ToolModel,
    fit_tool_model,
    score_candidates,
)
from graph.suggestion.ranking.tool_view import ToolView
from tests.graph.suggestion.ranking.drawn_intents import (
    drawn_encoded,
    drawn_index,
    drawn_past,
    drawn_view,
)

VIEW = drawn_view()


def flat(**coefficients):
    """Build a prior that knows only what is given."""
    row = np.array([coefficients.get(name, 0.0) for name in FEATURES])
    return LinearPrior(
        features=FEATURES,
        means=np.zeros(len(FEATURES)),
        scales=np.ones(len(FEATURES)),
        coefficients=dict.fromkeys(HISTORY_SIZES, row),
        intercepts=dict.fromkeys(HISTORY_SIZES, -2.0),
    )


def test_tools_to_consider_are_candidates_in_any_case():
    compared = compare_intent(drawn_encoded(), VIEW)
    missed = set(VIEW.tools.tolist()) - set(describe_candidates(compared, None, None).tools)
    tool = min(missed)
    found = describe_candidates(compared, None, None, considered=(tool, 77))
    assert tool in found.tools
    assert 77 not in found.tools


def test_only_tools_that_are_allowed_are_candidates():
    intents = drawn_past(VIEW, 10)
    past, allowed = PastIntents.from_intents(intents, VIEW), set(VIEW.tools[5:9].tolist())
    encoded = intents[0].encoded
    found = describe_candidates(
        compare_intent(encoded, VIEW.with_allowed(allowed)),
        past,
        past.gather_evidence(encoded),
        considered=VIEW.tools.tolist(),
    )
    assert set(found.tools.tolist()) == allowed


def test_logits_of_few_intents_are_of_models_that_did_not_see_them(monkeypatch):
    intents = drawn_past(VIEW, 15)
    past = PastIntents.from_intents(intents, VIEW)
    model, crossed = fit_tool_model(past, VIEW, prior=load_prior().tools)
    monkeypatch.setattr(tool_model, "MAX_CROSS_FITTED", 0)
    same, plain = fit_tool_model(past, VIEW, prior=load_prior().tools)
    np.testing.assert_array_equal(model.coefficients, same.coefficients)

    def likelihood(rows):
        chances = [compute_sigmoid(one.logits) for one in rows]
        called = [np.isin(one.tools, intents[one.own_run].tools) for one in rows]
        return sum(
            np.log(np.where(hit, p, 1 - p)).sum() for p, hit in zip(chances, called, strict=True)
        )

    assert likelihood(crossed) < likelihood(plain)


def test_few_intents_stay_near_the_prior_and_many_do_not():
    prior = load_prior().tools
    few = drawn_past(VIEW, 3)
    model, _ = fit_tool_model(PastIntents.from_intents(few, VIEW), VIEW, prior=prior)
    start = ToolModel.from_prior(prior, runs=3)
    near = np.abs(model.coefficients - start.coefficients).max()
    many = drawn_past(VIEW, 120)
    model, _ = fit_tool_model(PastIntents.from_intents(many, VIEW), VIEW, prior=prior)
    start = ToolModel.from_prior(prior, runs=120)
    assert near < 0.2 < np.abs(model.coefficients - start.coefficients).max()


def test_a_catalogue_without_tools_has_no_candidates():
    view = ToolView.for_team(drawn_index(0), team=None)
    scored = score_candidates(
        drawn_encoded(), view, None, model=ToolModel.from_prior(load_prior().tools)
    )
    assert len(scored.tools) == 0
    assert scored.clause_shares.shape == (0, 3)


def test_a_prior_for_other_features_is_refused():
    with pytest.raises(PriorError, match="score"):
        ToolModel.from_prior(flat().select_features(STATIC_FEATURES))


def test_tools_beyond_those_looked_up_first_are_found(monkeypatch):
    monkeypatch.setattr(candidates_module, "MAX_LOOKED_UP", 2)
    monkeypatch.setattr(candidates_module, "MAX_BY_NEARNESS", 1)
    past = PastIntents.from_intents(drawn_past(VIEW, 20), VIEW)
    narrow = VIEW.with_allowed(past.tools[-3:].tolist())
    scored = score_candidates(
        drawn_encoded(), narrow, past, model=ToolModel.from_prior(load_prior().tools, runs=20)
    )
    assert scored.tools.tolist() == past.tools[-3:].tolist()
