"""Presets, the fixed policy, and the moving average."""

import pytest

from learning.memory.context import ContextKey
from learning.thresholds.policy import (
    INITIAL_THRESHOLD,
    MAX_THRESHOLD,
    MIN_THRESHOLD,
    EmaPolicy,
    EvidenceLevel,
    FixedPolicy,
    Preset,
    ThresholdEstimate,
)
from tests.learning.thresholds.resolved import FOREIGN, KEY, observe, resolved


def windows(policy, count, *, succeeded=True, presets=None):
    tracker = policy.start(presets or {})
    for _ in range(count):
        observe(tracker, [resolved(1.0, succeeded=succeeded)] * policy.window)
    return tracker.estimate(KEY)


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


def test_the_average_starts_at_the_initial_threshold_or_the_preset():
    presets = {KEY.domain: Preset(initial=0.8)}
    tracker = EmaPolicy().start(presets)
    assert tracker.estimate(KEY).threshold == 0.8
    assert tracker.estimate(FOREIGN).threshold == INITIAL_THRESHOLD
    assert tracker.estimate(FOREIGN).level is EvidenceLevel.NONE


def test_the_average_moves_only_after_a_full_window():
    policy = EmaPolicy()
    tracker = observe(policy.start({}), [resolved(1.0)] * (policy.window - 1))
    assert tracker.estimate(KEY).threshold == INITIAL_THRESHOLD
    assert tracker.estimate(KEY).expected_success == 1.0
    observe(tracker, [resolved(1.0)])
    assert tracker.estimate(KEY).threshold == pytest.approx(0.91925)
    assert tracker.estimate(KEY).level is EvidenceLevel.CONTEXT


def test_the_average_ignores_predictions_below_the_threshold():
    policy = EmaPolicy()
    tracker = observe(policy.start({}), [resolved(0.9)] * 10 * policy.window)
    assert tracker.estimate(KEY).threshold == INITIAL_THRESHOLD


def test_the_average_needs_some_4700_successes_from_092_to_085():
    steps = next(number for number in range(200) if windows(EmaPolicy(), number).threshold <= 0.85)
    assert 4_600 <= steps * EmaPolicy().window <= 4_800


def test_failures_raise_the_average_and_success_within_the_band_leaves_it():
    assert windows(EmaPolicy(), 1, succeeded=False).threshold > INITIAL_THRESHOLD
    assert EmaPolicy().move(0.9, 0.80) == EmaPolicy().move(0.9, 0.90) == 0.9


@pytest.mark.parametrize(("succeeded", "bound"), [(True, MIN_THRESHOLD), (False, MAX_THRESHOLD)])
def test_the_average_stays_within_bounds(succeeded, bound):
    quick = EmaPolicy(rate=1.0, gain=10.0, window=1)
    tracker = observe(quick.start({}), [resolved(1.0, succeeded=succeeded)] * 5)
    assert tracker.estimate(KEY).threshold == bound


def test_contexts_average_apart():
    tracker = observe(EmaPolicy().start({}), [resolved(1.0)] * 50)
    other = ContextKey(context=99, domain=KEY.domain)
    assert tracker.estimate(other).threshold == INITIAL_THRESHOLD
