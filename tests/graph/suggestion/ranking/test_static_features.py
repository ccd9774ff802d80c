import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking.static_features import (
    MAX_RANK,
    SOFT_WIDTH,
    STATIC_FEATURES,
    compare_intent,
    count_better,
)
from graph.suggestion.ranking.tool_view import ToolView
from tests.graph.suggestion.ranking.drawn_intents import drawn_encoded, drawn_index, drawn_view


def naive(encoded, view):
    """Work the features out by the book, for all tools at once."""
    vectors = view.vectors_at(np.arange(len(view))).astype(float)
    whole, masked = vectors @ encoded.whole, vectors @ encoded.masked
    clauses = vectors @ encoded.clauses.T
    order = np.array([[(other > one).sum() for one in other] for other in clauses.T]).T

    def bm25(lexemes):
        return view.words.score_lexemes(list(dict.fromkeys(lexemes))).sum(axis=0)

    words = bm25(encoded.words)
    of_clauses = np.stack([bm25(lexemes) for lexemes in encoded.clause_words], axis=1)
    best_other = np.array(
        [[np.delete(column, at).max() for column in clauses.T] for at in range(len(view))]
    )
    soft = np.exp(clauses / SOFT_WIDTH)
    server = view.groups.centroids.astype(float) @ encoded.masked
    others = [
        masked[(view.servers == mine) & (np.arange(len(view)) != at)].max(initial=-np.inf)
        for at, mine in enumerate(view.servers)
    ]
    return {
        "whole_cosine": whole,
        "clause_cosine": clauses.max(axis=1),
        "part_cosine": np.maximum((vectors @ encoded.sentences.T).max(axis=1), whole),
        "word_score": np.log1p(words),
        "relative_word_score": words / (words.max() + 1e-9),
        "clause_word_score": (of_clauses / (of_clauses.max(axis=0) + 1e-9)).max(axis=1),
        "whole_rank": 1 / (1 + np.array([(whole > one).sum() for one in whole])),
        "clause_rank": 1 / (1 + order.min(axis=1)),
        "clauses_led": (order == 0).sum(axis=1),
        "clause_top_share": (order < 3).mean(axis=1),
        "clause_lead": (clauses - best_other).max(axis=1),
        "clause_share": (soft / soft.sum(axis=0)).max(axis=1),
        "name_cover": view.words.score_name_cover(list(set(encoded.words)), np.arange(len(view))),
        "whole_deviations": (whole - whole.mean()) / whole.std(),
        "clause_deviations": ((clauses - clauses.mean(axis=0)) / clauses.std(axis=0)).max(axis=1),
        "server_cosine": server[view.groups.group_of] - server.mean(),
        "server_rival": np.where(np.isinf(others), masked.mean(), others) - masked.max(),
    }


@given(st.integers(0, 40), st.integers(1, 4), st.booleans())
def test_features_have_their_documented_values(seed, clauses, is_private):
    teams = np.arange(30) % 3 if is_private else np.zeros(30, dtype=np.int64)
    view = ToolView.for_team(drawn_index(30, seed, teams=teams), team=1)
    encoded = drawn_encoded(seed, clauses=clauses, sentences=2)
    at = np.arange(0, len(view), 2)
    found = compare_intent(encoded, view).compute_features(at)
    for place, (name, expected) in enumerate(naive(encoded, view).items()):
        assert name == STATIC_FEATURES[place]
        np.testing.assert_allclose(found[:, place], expected[at], atol=2e-4, err_msg=name)


def test_ranks_beyond_the_last_are_the_last():
    values = -np.arange(MAX_RANK + 50, dtype=np.float32)
    found = count_better(values, np.array([0, 7, MAX_RANK - 1, MAX_RANK, MAX_RANK + 40]))
    assert found.tolist() == [0, 7, MAX_RANK - 1, MAX_RANK, MAX_RANK]


def test_one_tool_alone_has_features():
    found = compare_intent(drawn_encoded(), drawn_view(1)).compute_features(np.array([0]))
    assert np.isfinite(found).all()


def test_an_intent_of_another_model_is_refused():
    index = drawn_index(vectors=np.zeros((40, 3), dtype=np.float32))
    with pytest.raises(ValueError, match="embedded by different models"):
        compare_intent(drawn_encoded(), ToolView.for_team(index, team=None))
