"""Presets, and the fixed policy."""

import pytest

from learning.thresholds.policy import FixedPolicy, Preset, ThresholdEstimate
from tests.learning.thresholds.resolved import KEY, observe, resolved


@pytest.mark.parametrize("values", [(0.6, 0.5, 0.7), (0.9, 0.8, 0.85), (0.9, -0.1, 1.1)])
def test_a_preset_outside_its_bounds_is_refused(values):
    lowest, initial, highest = values
    with pytest.raises(ValueError, match="lowest <= initial <= highest"):
        Preset(initial=initial, lowest=lowest, highest=highest)


def test_a_fixed_threshold_never_moves():
    tracker = FixedPolicy(0.85).start({})
    observe(tracker, [resolved(1.0, succeeded=False)] * 100)
    assert tracker.estimate(KEY).threshold == 0.85
    assert FixedPolicy(0.85).name == "fixed:0.85"


def test_a_prediction_at_the_threshold_is_admitted_unless_speculation_is_suspended():
    assert ThresholdEstimate(threshold=0.8).admits(0.8)
    assert not ThresholdEstimate(threshold=0.8).admits(0.79)
    assert not ThresholdEstimate(threshold=0.8, is_suspended=True).admits(1.0)
