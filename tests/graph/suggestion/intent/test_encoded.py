import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.suggestion.intent.encoded import EncodedIntent
from tests.graph.suggestion.ranking.drawn_intents import drawn_encoded

ARRAYS = ("whole", "masked", "sentences", "clauses", "masked_clauses")


@given(st.integers(0, 99), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_serialization_round_trips(seed, clauses, sentences, has_words):
    one = drawn_encoded(seed, clauses=clauses, sentences=sentences, has_words=has_words)
    other = EncodedIntent.from_bytes(one.to_bytes())
    for name in ARRAYS:
        ours, theirs = getattr(one, name), getattr(other, name)
        assert theirs.dtype == np.float32
        np.testing.assert_allclose(theirs, ours, atol=1e-3)
    assert (other.words, other.clause_words) == (one.words, one.clause_words)
    assert other.length == one.length
    assert other.to_bytes() == one.to_bytes()


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x02" + bytes(40)])
def test_foreign_bytes_are_refused(data):
    with pytest.raises(ValueError, match="encoded intent"):
        EncodedIntent.from_bytes(data)


def test_truncated_bytes_are_refused():
    with pytest.raises(ValueError, match="not an encoded intent"):
        EncodedIntent.from_bytes(drawn_encoded().to_bytes()[:-1])
