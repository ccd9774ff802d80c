import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.ranking.terms import TermIndex

KEYS = np.random.default_rng(1).integers(-(2**62), 2**62, 8).tolist()
WORDS = st.lists(st.sampled_from(KEYS[:7]), max_size=8)
TEXTS = st.lists(WORDS, min_size=1, max_size=6)


def naive_terms(words):
    return Counter(words) + Counter(pairwise(words))


def naive_cosine(texts, at, words):
    """Compare a text with one of several by the terms those hold."""
    held = [naive_terms(text) for text in texts]
    idf = {
        term: max(math.log((len(texts) + 1) / (sum(term in other for other in held) + 0.5)), 0)
        for terms in held
        for term in terms
    }

    def weigh(terms):
        return {t: math.log1p(count) * idf[t] for t, count in terms.items() if t in idf}

    one, other = weigh(held[at]), weigh(naive_terms(words))
    norm = math.hypot(*one.values()) * math.hypot(*other.values())
    return sum(one[t] * other[t] for t in one.keys() & other.keys()) / norm if norm else 0


@given(TEXTS, st.lists(st.sampled_from(KEYS), max_size=8))
def test_texts_are_compared_by_words_and_pairs(texts, words):
    found = TermIndex.from_texts(texts).compute_similarity(words)
    expected = [naive_cosine(texts, at, words) for at in range(len(texts))]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@given(TEXTS)
def test_all_are_compared_with_each_other_alike(texts):
    terms = TermIndex.from_texts(texts)
    np.testing.assert_allclose(
        terms.compute_gram(), [terms.compute_similarity(text) for text in texts], atol=1e-5
    )


def test_the_order_of_words_counts():
    terms = TermIndex.from_texts([[1, 2, 3], [3, 2, 1], [4, 5, 6]])
    similarity = terms.compute_similarity([1, 2, 3])
    assert similarity[0] == pytest.approx(1)
    assert 0 < similarity[1] < similarity[0]
    assert similarity[2] == 0


def test_serialization_round_trips():
    terms = TermIndex.from_texts([[1, 2, 2], [2, 3], []])
    again = TermIndex.from_arrays(terms.to_arrays())
    np.testing.assert_allclose(
        again.compute_similarity([2, 3]), terms.compute_similarity([2, 3]), atol=1e-3
    )
