from __future__ import annotations

from dataclasses import replace

from graph.suggestion.ranking.fit import fit_ranker
from graph.suggestion.ranking.rank import rank_tool_sets
from graph.suggestion.ranking.ranker import Ranker
from graph.suggestion.ranking.request_scores import score_requests
from graph.suggestion.ranking.static_features import compare_intent
from tests.graph.suggestion.ranking.small_catalogue import encoded, view


def with_requests(*texts: str):
    """Encode an intent of these requests; its masked forms are the requests themselves."""
    intent, parts = encoded(" then ".join(texts)), [encoded(text) for text in texts]
    return replace(
        intent,
        requests=intent.clauses,
        masked_requests=intent.clauses,
        request_words=tuple(part.words for part in parts),
        masked_request_words=tuple(part.words for part in parts),
    )


def score(intent, catalogue=None, **options):
    catalogue = view() if catalogue is None else catalogue
    return score_requests(compare_intent(intent, catalogue, with_requests=True), **options)


def test_each_request_has_its_best_tool_first() -> None:
    flights, mail = score(with_requests("find flights between cities", "send mail to a person"))
    assert (flights[0].tool, mail[0].tool) == (11, 21)
    assert flights[0].word_share == 1.0
    assert [one.score for one in mail] == sorted((one.score for one in mail), reverse=True)


def test_words_that_no_tool_has_count_most() -> None:
    ((first, *_),) = score(with_requests("send mail by pigeon"))
    assert first.tool == 21
    assert 0.0 < first.word_share < 0.6


def test_the_whole_intent_counts_beside_one_of_several_requests() -> None:
    def score_of(*texts: str) -> float:
        first, *_ = score(with_requests(*texts), tools=[12])
        return next(one.score for one in first if one.tool == 12)

    assert score_of("the other one", "book a flight seat") > score_of("the other one")


def test_tools_that_may_be_no_candidates_are_not_the_best() -> None:
    ((first, *_),) = score(with_requests("send mail to a person"), view().with_allowed([22, 31]))
    assert first.tool == 22


def test_an_intent_without_requests_or_tools_has_no_scores() -> None:
    assert score(encoded("send mail")) == ()
    assert score(with_requests("send mail"), view({})) == ()


def test_a_ranking_holds_the_scores_of_its_tools_for_each_request() -> None:
    catalogue = view()
    ranker: Ranker = fit_ranker([], catalogue)
    found = rank_tool_sets(with_requests("send mail to a person"), catalogue, ranker)
    assert found.best is not None
    assert found.familiarity == 0.0
    assert {*found.best.tools} <= {one.tool for one in found.requests[0]}
