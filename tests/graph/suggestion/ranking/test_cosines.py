import numpy as np
import pytest

from graph.suggestion.ranking.cosines import BLOCK_ROWS, compare_vectors


@pytest.mark.parametrize("count", [1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 7])
@pytest.mark.parametrize("queries", [0, 1, 5, 40])
def test_each_query_is_compared_with_each_vector(queries, count):
    random = np.random.default_rng(count)
    asked = random.standard_normal((queries, 8)).astype(np.float32)
    vectors = random.standard_normal((count, 8)).astype(np.float32)
    cosines = compare_vectors(asked, vectors)
    assert cosines.dtype == np.float32
    np.testing.assert_allclose(cosines, asked @ vectors.T, atol=1e-5)


def test_without_vectors_there_is_nothing_to_compare():
    nothing = np.zeros((0, 8), dtype=np.float32)
    assert compare_vectors(np.ones((3, 8), dtype=np.float32), nothing).shape == (3, 0)
