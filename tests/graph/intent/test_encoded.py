import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.intent.encoded import Encoded
from tests.graph.ranking.drawn_intents import drawn_encoded

ARRAYS = ("whole", "masked", "sentences", "clauses", "masked_clauses")


@given(st.integers(0, 99), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_what_is_written_is_read_back(seed, clauses, sentences, has_words):
    one = drawn_encoded(seed, clauses=clauses, sentences=sentences, has_words=has_words)
    other = Encoded.from_bytes(one.to_bytes())
    for name in ARRAYS:
        ours, theirs = getattr(one, name), getattr(other, name)
        assert theirs.dtype == np.float32
        np.testing.assert_allclose(theirs, ours, atol=1e-3)
    assert (other.words, other.clause_words) == (one.words, one.clause_words)
    assert other.length == one.length
    assert other.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x02" + bytes(40)])
def test_other_bytes_are_refused(data):
    with pytest.raises(ValueError, match="encoded intent"):
        Encoded.from_bytes(data)


def test_torn_bytes_are_refused():
    with pytest.raises(ValueError, match="not an encoded intent"):
        Encoded.from_bytes(drawn_encoded().to_bytes()[:-1])
