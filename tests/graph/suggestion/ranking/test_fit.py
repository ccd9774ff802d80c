import pytest

from graph.suggestion.ranking.fit import fit_ranker, prior_ranker
from graph.suggestion.ranking.rank import rank_tool_sets
from tests.graph.suggestion.ranking.small_catalogue import TEXTS, encoded, habits, past, view


@pytest.fixture(scope="module")
def fitted():
    return fit_ranker(habits(), view())


def test_a_past_intent_gets_the_same_suggestion_again(fitted):
    assert rank_tool_sets(encoded("plan a trip to rome"), view(), fitted).best.tools == (11, 13)


def test_an_intent_in_the_same_words_gets_the_same_suggestion(fitted):
    new = {"plan a trip to tunis": {11, 13}, "get me to tunis": {11, 12}}
    for text, tools in new.items():
        assert set(rank_tool_sets(encoded(text), view(), fitted).best.tools) == tools


def test_history_adds_information(fitted):
    asked = encoded("how is it in tunis")
    unaware = rank_tool_sets(asked, view(), prior_ranker("fake/words"))
    assert rank_tool_sets(asked, view(), fitted).best.tools == (34,)
    assert unaware.best.tools != (34,)


def test_past_intents_without_tools_are_ignored():
    ranker = fit_ranker([*past(("say nothing", ())), *habits()[:3]], view())
    assert ranker.past_intent_count == 3
    assert fit_ranker(past(("say nothing", ())), view()).past is None


def test_tools_that_are_gone_are_never_suggested(fitted):
    gone = {tool: text for tool, text in TEXTS.items() if tool != 13}
    ranker = fit_ranker(habits(), view(gone))
    for trained in (ranker, fitted):
        ranking = rank_tool_sets(encoded("plan a trip to rome"), view(gone), trained)
        assert 13 not in ranking.tool_probabilities
        assert 13 not in ranking.best.tools


def test_past_runs_tell_how_far_texts_alone_can_be_trusted():
    unaware = prior_ranker("fake/words")
    asked = [f"{text} please" for text in TEXTS.values()]
    suggested = [rank_tool_sets(encoded(text), view(), unaware).best.tools for text in asked]
    as_suggested = fit_ranker(past(*zip(asked, suggested, strict=True)), view())
    otherwise = fit_ranker(past(*((text, (32, 34)) for text in asked)), view())
    shifts = [one.calibrator.text_only_shift for one in (as_suggested, otherwise)]
    assert shifts[0] > 0 > shifts[1]
