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
