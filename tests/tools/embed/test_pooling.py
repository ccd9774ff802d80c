import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.embed.pooling import MAX_BATCH, MAX_BATCH_TOKENS, make_batches, pool_states

STATES = np.array([[[3.0, 0.0], [0.0, 4.0], [99.0, 99.0]]], dtype=np.float32)
MASK = np.array([[1, 1, 0]])


def test_the_mean_leaves_padding_out():
    assert pool_states(STATES, MASK, "mean")[0] == pytest.approx([0.6, 0.8])


def test_the_first_state_stands_for_all_where_the_model_wants_it():
    assert pool_states(STATES, MASK, "cls")[0] == pytest.approx([1, 0])


@given(st.lists(st.integers(min_value=1, max_value=512), max_size=200))
def test_batches_hold_every_text_once_within_their_bounds(lengths):
    groups = list(make_batches(lengths))
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        longest = max(lengths[index] for index in group)
        assert len(group) == 1 or longest * len(group) <= MAX_BATCH_TOKENS
        assert len(group) <= MAX_BATCH
