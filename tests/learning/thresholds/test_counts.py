"""Counts of outcomes by confidence, of which older ones count less."""

from learning.thresholds.counts import CELLS, DecayedCounts, find_cell


def test_every_threshold_begins_a_cell():
    assert [find_cell(cell / CELLS) for cell in range(CELLS)] == list(range(CELLS))


def test_each_outcome_counts_by_its_weight():
    kept = DecayedCounts(keep=1.0)
    kept.add(90, succeeded=True, weight=0.5)
    kept.add(90, succeeded=False, weight=1.0)
    assert (kept.successes[90], kept.totals[90]) == (0.5, 1.5)
