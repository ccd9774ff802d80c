"""Replaying a history under a policy."""

import pytest

from learning.thresholds.adaptive import AdaptivePolicy
from learning.thresholds.backtest import SEGMENTS, replay, report_to_json
from learning.thresholds.policy import FixedPolicy, ThresholdEstimate
from tests.learning.thresholds.resolved import resolved, stream

HISTORY = [
    resolved(0.95, saves_ms=100.0, at=1.0),
    resolved(0.95, succeeded=False, at=2.0),
    resolved(0.90, saves_ms=40.0, at=3.0),
    resolved(0.70, saves_ms=1_000.0, at=4.0),
]


class Eager:
    """A policy that takes 0.70 from the first success on."""

    name = "eager"

    def __init__(self):
        self.threshold = 0.92

    def start(self, _presets):
        return Eager()

    def observe(self, prediction):
        self.threshold = 0.70 if prediction.succeeded else self.threshold

    def estimate(self, _key):
        return ThresholdEstimate(threshold=self.threshold)


def test_a_fixed_threshold_speculates_what_is_at_or_above_it():
    found = replay(HISTORY, FixedPolicy(0.90), presets={})
    assert (found.predictions, found.speculated, found.coverage) == (4, 3, 0.75)
    assert (found.success, found.waste) == pytest.approx((2 / 3, 1 / 3))
    assert found.saved_ms == 140.0
    assert found.path == (0.90,) * 4


def test_nothing_speculated_has_no_success():
    found = replay([resolved(0.5)], FixedPolicy(0.9), presets={})
    assert (found.success, found.waste, found.coverage) == (None, None, 0.0)
    assert replay([], FixedPolicy(0.9), presets={}).path == ()


def test_a_prediction_is_judged_before_it_is_learned_from():
    policy = Eager()
    found = replay([resolved(1.0, at=1.0), resolved(0.75, at=2.0)], policy, presets={})
    assert found.path == (0.92, 0.70)
    assert found.speculated == 2


def test_teams_learn_apart():
    policy = Eager()
    history = [resolved(1.0, team=1, at=1.0), resolved(0.75, team=2, at=2.0)]
    assert replay(history, policy, presets={}).speculated == 1


def test_the_path_has_a_mean_for_each_part_and_none_while_suspended():
    bad = stream(200, lambda _confidence: 0.1)
    found = replay(bad, AdaptivePolicy(), presets={})
    assert len(found.path) == SEGMENTS
    assert found.path[0] is not None
    assert found.path[-1] is None


def test_progress_is_reported_for_each_prediction():
    seen = []
    replay(HISTORY, FixedPolicy(0.9), presets={}, on_progress=lambda *pair: seen.append(pair))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_report_becomes_json_with_rounded_shares():
    row = report_to_json(replay(HISTORY, FixedPolicy(0.90), presets={}))
    assert row["success"] == 0.6667
    assert row["path"] == [0.9] * 4
    nothing = report_to_json(replay(stream(200, lambda _c: 0.0), AdaptivePolicy(), presets={}))
    assert nothing["path"][-1] is None
    assert report_to_json(replay([], FixedPolicy(0.9), presets={}))["success"] is None


def test_a_routine_that_always_succeeds_is_run_every_time():
    routine = [resolved(0.9286, at=float(number)) for number in range(60)]
    for policy in (AdaptivePolicy(), FixedPolicy(0.92)):
        assert replay(routine, policy, presets={}).speculated == 60
