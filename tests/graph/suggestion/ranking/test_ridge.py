import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking import ridge as ridge_module
from graph.suggestion.ranking.ridge import KERNEL_WIDTH, PENALTY, WORD_SHARE, fit_ridge
from graph.suggestion.ranking.terms import TermIndex
from tests.graph.suggestion.ranking.drawn_intents import unit

WIDE = 6


def drawn(seed, count=9, *, has_words=True):
    draw = np.random.default_rng(seed)
    vectors = unit(draw.standard_normal((count, 5)))
    words = [draw.integers(0, 8, 5).tolist() if has_words else [] for _ in range(count)]
    called = (draw.random((count, WIDE)) < 0.35).astype(float)
    called[:, 4] = called[:, 3]
    return vectors, words, called


def fitted(vectors, words, called):
    rows, tools = np.nonzero(called)
    return fit_ridge(vectors, words, rows=rows, tools=tools, width=called.shape[1])


def naive_kernel(vectors, words):
    similarity = TermIndex.from_texts(words).compute_gram().astype(float)
    return np.exp((vectors @ vectors.T - 1) / KERNEL_WIDTH) + WORD_SHARE * similarity


@given(st.integers(0, 200))
def test_leaving_out_equals_fitting_without(seed):
    vectors, words, called = drawn(seed, has_words=False)
    _, left_out = fitted(vectors, words, called)
    for at in range(len(vectors)):
        others = np.arange(len(vectors)) != at
        ridge, _ = fitted(vectors[others], words[1:], called[others])
        wanted, size = ridge.predict_wanted(vectors[others] @ vectors[at], [])
        np.testing.assert_allclose(left_out.wanted_scores(at), wanted, atol=1e-4)
        assert left_out.sizes[at] == pytest.approx(size, abs=1e-3)


def test_many_are_fitted_as_few_are():
    vectors, words, called = drawn(2, count=700)
    ridge, _ = fitted(vectors, words, called)
    kernel = naive_kernel(vectors, words)
    dual = np.linalg.solve(kernel + PENALTY * np.eye(len(kernel)), called)
    np.testing.assert_allclose(ridge.weights[:, ridge.columns], dual, atol=1e-3)


def test_an_indefinite_kernel_is_refused():
    with pytest.raises(ValueError, match="not positive definite"):
        ridge_module._invert_with_penalty(-np.eye(3))
