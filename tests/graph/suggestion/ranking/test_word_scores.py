import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking.word_scores import WordScores
from tests.graph.suggestion.ranking.drawn_intents import LEXEMES, drawn_index
from tools.search_index import RankingPreference, SearchFilter

LEXEME = st.sampled_from((*LEXEMES, 999))


def bm25_of_search(index, lexeme, team=None):
    """Ask search what one lexeme is worth, tool by tool."""
    found = index.find_best(
        [lexeme],
        vectors=None,
        only=SearchFilter(team=team),
        preference=RankingPreference(dense=0.0, lexical=1.0),
        limit=len(index.tools),
    )
    return {one.tool_pk: one.bm25 for one in found}


@given(st.integers(0, 20), LEXEME, st.booleans())
def test_word_scores_equal_those_of_search(seed, lexeme, is_private):
    teams = np.arange(40) % 3 if is_private else np.zeros(40, dtype=np.int64)
    index = drawn_index(seed=seed, teams=teams)
    visible = index.visible_mask(2)
    tools = index.tools if visible is None else index.tools[visible]
    (row,) = WordScores.from_index(index, visible).score_lexemes([lexeme])
    expected = bm25_of_search(index, lexeme, team=2)
    assert dict(zip(tools[row > 0].tolist(), row[row > 0].tolist(), strict=True)) == pytest.approx(
        expected, rel=1e-4
    )


@given(st.integers(0, 20), st.lists(LEXEME, unique=True))
def test_name_coverage_is_weighted_by_rarity(seed, said):
    index = drawn_index(seed=seed)
    postings, at = index.postings, np.arange(0, 40, 3)
    named, weights = np.zeros(40), np.zeros(40)
    for lexeme, (start, end) in zip(LEXEMES, postings.find_spans(LEXEMES), strict=True):
        rarity = math.log(1 + (40 - (end - start) + 0.5) / (end - start + 0.5))
        for place in range(start, end):
            if postings.in_name[place]:
                weights[postings.tools[place]] += rarity
                named[postings.tools[place]] += rarity * (lexeme in said)
    found = WordScores.from_index(index, None).score_name_cover(said, at)
    np.testing.assert_allclose(found, (named / (weights + 1e-9))[at], atol=1e-5)


def test_words_of_tools_not_seen_count_nowhere():
    teams = np.array([1] * 20 + [0] * 20)
    index = drawn_index(teams=teams)
    shared = WordScores.from_index(index, index.visible_mask(None))
    assert len(shared.name_weights) == 20
    assert shared.score_lexemes(LEXEMES).shape == (len(LEXEMES), 20)
    assert WordScores.from_index(index, None).score_lexemes([LEXEMES[0]]).shape == (1, 40)


@given(st.integers(0, 20), st.lists(LEXEME, unique=True))
def test_scores_are_summed_over_lexemes(seed, said):
    words = WordScores.from_index(drawn_index(seed=seed), None)
    np.testing.assert_array_equal(words.sum_scores(said), words.score_lexemes(said).sum(axis=0))


@given(st.integers(0, 20), st.lists(LEXEME, unique=True))
def test_tools_contain_the_lexemes_that_they_score_for(seed, said):
    words, at = WordScores.from_index(drawn_index(seed=seed), None), np.array([3, 0, 17, 39])
    expected = words.score_lexemes(said)[:, at] > 0
    np.testing.assert_array_equal(words.contain_lexemes(said, at), expected)
