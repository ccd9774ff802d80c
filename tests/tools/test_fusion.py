import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.fusion import (
    TENTH_RANK,
    PastUse,
    SearchEvidence,
    fuse_candidates,
    logistic_score,
)

cosines = st.none() | st.floats(min_value=-1, max_value=1)
bm25s = st.none() | st.floats(min_value=0, max_value=1_000)


def evidence(tool="s:t", dense=None, lexical=None):
    return SearchEvidence(tool_pk=1, tool=tool, dense=dense, lexical=lexical)


@given(st.lists(st.tuples(cosines, bm25s)))
def test_scores_lie_between_0_and_1_and_fall_with_the_rank(pairs):
    scores = [
        item.score
        for item in fuse_candidates(evidence(f"s:{i}", *pair) for i, pair in enumerate(pairs))
    ]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(st.floats(allow_nan=False))
def test_squashing_never_overflows_and_is_symmetric(odds):
    assert math.isclose(logistic_score(odds) + logistic_score(-odds), 1)


def test_a_tool_of_a_server_in_use_is_preferred_among_equals():
    kin = SearchEvidence(tool_pk=2, tool="z:z", dense=0.5, lexical=1.0, is_related=True)
    assert fuse_candidates([evidence("a:a", 0.5, 1.0), kin])[0].evidence == kin


def test_a_tool_that_stands_out_scores_higher_than_one_of_many_alike():
    rest = [evidence(f"b:{i}", 0.2, 0.0) for i in range(TENTH_RANK)]
    alike = [evidence(f"b:{i}", 0.49, 0.0) for i in range(TENTH_RANK)]
    best = evidence("a:a", 0.5, 0.0)
    assert fuse_candidates([best, *rest])[0].score > 2 * fuse_candidates([best, *alike])[0].score


@given(st.lists(st.tuples(cosines, bm25s)))
def test_the_order_is_the_same_however_candidates_come(pairs):
    items = [evidence(f"s:{i}", *pair) for i, pair in enumerate(pairs)]
    assert fuse_candidates(items) == fuse_candidates(reversed(items))


def test_ties_go_by_the_tools_id():
    ranked = fuse_candidates([evidence("b:b", 0.5, 1.0), evidence("a:z", 0.5, 1.0)])
    assert [item.evidence.tool for item in ranked] == ["a:z", "b:b"]


def test_rare_words_overrule_meaning_and_common_ones_do_not():
    close = evidence("a:close", 0.7, 0.0)
    assert fuse_candidates([close, evidence("b:rare", 0.4, 25.0)])[0].evidence.tool == "b:rare"
    assert fuse_candidates([close, evidence("b:common", 0.4, 5.0)])[0].evidence.tool == "a:close"


def three_tools():
    return [
        SearchEvidence(tool_pk=pk, tool=f"s:{pk}", dense=dense, lexical=0.0)
        for pk, dense in ((1, 0.6), (2, 0.5), (3, 0.4))
    ]


def past_use(familiarity, log_odds):
    return PastUse(familiarity=familiarity, log_odds=log_odds)


def order(found):
    return [hit.evidence.tool_pk for hit in found]


def test_where_past_requests_are_familiar_they_decide():
    found = fuse_candidates(three_tools(), past_use=past_use(1.0, {1: -3.0, 2: -1.0, 3: 4.0}))
    assert order(found) == [3, 2, 1]
    assert found[0].score == pytest.approx(logistic_score(4.0))


@given(
    st.floats(min_value=0, max_value=1),
    st.dictionaries(st.integers(1, 3), st.floats(min_value=-50, max_value=50)),
)
def test_the_score_lies_between_that_by_text_and_that_by_past_requests(familiarity, log_odds):
    by_text = {hit.evidence.tool_pk: hit.score for hit in fuse_candidates(three_tools())}
    found = fuse_candidates(three_tools(), past_use=past_use(familiarity, log_odds))
    for hit in found:
        pk = hit.evidence.tool_pk
        bounds = sorted((by_text[pk], logistic_score(log_odds.get(pk, -math.inf))))
        assert bounds[0] - 1e-9 <= hit.score <= bounds[1] + 1e-9
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
