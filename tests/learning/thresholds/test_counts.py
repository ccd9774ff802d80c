"""Counts of outcomes by confidence, of which older ones count less."""

import pytest

from learning.thresholds import counts
from learning.thresholds.counts import CELLS, DecayedCounts, find_cell


def test_every_threshold_begins_a_cell():
    assert [find_cell(cell / CELLS) for cell in range(CELLS)] == list(range(CELLS))


def test_each_outcome_counts_by_its_weight():
    kept = DecayedCounts(keep=1.0)
    kept.add(90, succeeded=True, weight=0.5)
    kept.add(90, succeeded=False, weight=1.0)
    assert (kept.successes[90], kept.totals[90]) == (0.5, 1.5)


@pytest.mark.parametrize("max_scale", [1e12, 10.0])
def test_older_outcomes_count_less_however_often_the_counts_are_normalised(monkeypatch, max_scale):
    monkeypatch.setattr(counts, "MAX_SCALE", max_scale)
    kept = DecayedCounts(keep=0.5)
    for cell in range(8):
        kept.add(cell, succeeded=True, weight=1.0)
    assert kept.totals[:8] == pytest.approx([0.5 ** (7 - cell) for cell in range(8)])
    assert kept.successes == kept.totals
