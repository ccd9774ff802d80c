import numpy as np

from tests.fakes import FakeEmbedder
from tools.embed.cache import CachedEmbedder


def test_the_same_query_is_embedded_once():
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner)
    first = cached.embed(["a", "b"], kind="query")
    assert np.array_equal(cached.embed(["b", "a"], kind="query"), first[::-1])
    assert inner.embedded == ["a", "b"]
    assert (cached.statistics.hits, cached.statistics.misses, cached.statistics.size) == (2, 2, 2)


def test_the_oldest_query_is_forgotten_first():
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner, size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text], kind="query")
    assert inner.embedded == ["a", "b", "c", "b"]
    assert cached.statistics.size == 2


def test_a_result_is_the_callers_own():
    cached = CachedEmbedder(FakeEmbedder())
    cached.embed(["a"], kind="query")[:] = 0
    assert np.linalg.norm(cached.embed(["a"], kind="query")) > 0.9


def test_only_queries_embedded_before_are_recalled():
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner)
    rows = cached.embed(["a", "b"], kind="query")
    assert np.array_equal(cached.recall(["b", "a"]), rows[::-1])
    assert cached.recall(["a", "c"]) is None
    assert inner.embedded == ["a", "b"]
