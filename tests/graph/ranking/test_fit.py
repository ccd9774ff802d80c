import pytest

from graph.ranking import fit as fitting
from graph.ranking import prior
from graph.ranking.fit import fit, of_prior
from graph.ranking.rank import rank
from graph.ranking.set_features import FEATURES
from tests.graph.ranking.small_catalogue import TEXTS, encoded, habits, past, view


@pytest.fixture(scope="module")
def fitted():
    return fit(habits(), view())


def test_without_past_intents_the_prior_is_the_ranker():
    ranker = fit([], view())
    shipped = prior.load()
    assert (ranker.runs, ranker.past, ranker.history) == (0, None, None)
    assert ranker.embedding_model == "fake/words"
    assert ranker.set_model.coefficients.tolist() == shipped.sets.of(FEATURES).at(0).tolist()
    assert ranker.tool_model.intercept == shipped.tools.intercept_at(0)
    assert ranker.calibrator.ceiling < 0.7


def test_a_past_intent_is_suggested_the_same_way_again(fitted):
    assert rank(encoded("plan a trip to rome"), view(), fitted).best.tools == (11, 13)


def test_what_is_asked_for_in_the_same_words_is_suggested_the_same_way(fitted):
    new = {"plan a trip to tunis": {11, 13}, "get me to tunis": {11, 12}}
    for text, tools in new.items():
        assert set(rank(encoded(text), view(), fitted).best.tools) == tools


def test_what_history_shows_could_not_be_known_without_it(fitted):
    asked = encoded("how is it in tunis")
    unaware = rank(asked, view(), of_prior("fake/words"))
    assert rank(asked, view(), fitted).best.tools == (34,)
    assert unaware.best.tools != (34,)


def test_fitting_is_deterministic(fitted):
    again = fit(habits(), view())
    assert again.set_model.coefficients.tolist() == fitted.set_model.coefficients.tolist()
    assert again.calibrator == fitted.calibrator


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_few_past_intents_are_enough_to_fit(count):
    ranker = fit(habits()[:count], view())
    assert ranker.runs == count
    assert rank(encoded("get me to oslo"), view(), ranker).best.confidence <= 0.69


def test_past_intents_without_tools_are_passed_over():
    ranker = fit([*past(("say nothing", ())), *habits()[:3]], view())
    assert ranker.runs == 3
    assert fit(past(("say nothing", ())), view()).past is None


def test_tools_that_are_gone_are_never_suggested(fitted):
    gone = {tool: text for tool, text in TEXTS.items() if tool != 13}
    ranker = fit(habits(), view(gone))
    for trained in (ranker, fitted):
        ranking = rank(encoded("plan a trip to rome"), view(gone), trained)
        assert 13 not in ranking.tool_probabilities
        assert 13 not in ranking.best.tools


def test_another_prior_can_be_judged():
    shipped = prior.load()
    other = prior.Prior(
        tools=shipped.tools,
        sets=shipped.sets,
        order=shipped.order,
        calibration=dict.fromkeys(prior.SIZES, (-9.0, 1.0)),
        gate=shipped.gate,
        learned_on=("nothing",),
    )
    ranker = fit([], view(), prior=other)
    assert rank(encoded("book a hotel room"), view(), ranker).best.confidence < 0.01


def test_without_history_past_intents_do_not_count():
    ranker = fit(habits(), view(), without={"history"})
    assert ranker.past is None


def test_families_left_out_say_nothing_in_any_model():
    ranker = fit(habits(), view(), without={"graph", "server"})
    said = dict(zip(FEATURES, ranker.set_model.coefficients, strict=True))
    assert (said["pmi"], said["server"]) == (0, 0)
    assert said["sumLR"] != 0
    assert ranker.order_model.coefficients[:3].tolist() == [0, 0, 0]


def test_an_unknown_family_is_refused():
    with pytest.raises(ValueError, match="no feature family magic"):
        fit(habits()[:3], view(), without={"magic"})
    with pytest.raises(ValueError, match="no feature family magic"):
        rank(encoded("get"), view(), of_prior("fake/words"), without={"magic"})


def test_only_the_newest_runs_teach_how_to_rank_sets(monkeypatch):
    seen = []
    example = fitting.set_model.example

    def note(scored, *args, **fields):
        seen.append(scored.own)
        return example(scored, *args, **fields)

    monkeypatch.setattr(fitting.set_model, "example", note)
    monkeypatch.setattr(fitting, "LEARNED_SETS", 4)
    fit(habits(), view())
    assert seen == [28, 29, 30, 31, *[None] * 4]
