import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tools.embed.quantize import BLOCK, OFFSET, quantize_blocks, quantize_rows

weights = arrays.arrays(
    np.float32, (3, 2 * BLOCK), elements=st.floats(-100, 100, width=32, allow_subnormal=False)
)


@given(weights)
def test_rows_are_restored_to_within_half_a_scale(rows):
    values, scales = quantize_rows(rows)
    assert (np.abs(values * scales - rows) <= scales * 0.5001).all()


@given(weights)
def test_blocks_are_restored_to_within_half_a_scale(rows):
    values, scales = quantize_blocks(rows)
    restored = (values.astype(np.float32) - OFFSET) * scales[:, :, None]
    assert (np.abs(restored - rows.reshape(values.shape)) <= scales[:, :, None] * 0.5001).all()


def test_an_outlier_costs_only_its_own_block_precision():
    rows = np.full((1, 2 * BLOCK), 0.01, dtype=np.float32)
    rows[0, 0] = 100
    values, scales = quantize_blocks(rows)
    assert (values[0, 0, 1:] == OFFSET).all()
    assert (values[0, 1] - float(OFFSET)) * scales[0, 1] == pytest.approx(0.01)


def test_rows_without_whole_blocks_are_refused():
    with pytest.raises(ValueError, match="blocks of 32"):
        quantize_blocks(np.zeros((1, BLOCK + 1), dtype=np.float32))
