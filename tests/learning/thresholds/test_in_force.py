"""Which threshold applies to an intent."""

import pytest

from learning.memory.context import ContextKey
from learning.thresholds.in_force import (
    StoredThreshold,
    ThresholdInForce,
    ThresholdScope,
    ThresholdTable,
)
from learning.thresholds.policy import Preset

KEY = ContextKey(context=11, domain=1)
CONTEXT = ThresholdScope(7, 1, 11)
DOMAIN = ThresholdScope(7, 1, None)
TEAM = ThresholdScope(7, None, None)


def find(stored, presets=None):
    return ThresholdTable(stored, presets or {}).find(7, KEY)


@pytest.mark.parametrize(
    ("scopes", "value"),
    [((CONTEXT, DOMAIN, TEAM), 0.80), ((DOMAIN, TEAM), 0.81), ((TEAM,), 0.82)],
)
def test_the_narrowest_threshold_applies(scopes, value):
    values = {CONTEXT: 0.80, DOMAIN: 0.81, TEAM: 0.82}
    assert find({one: StoredThreshold(threshold=values[one]) for one in scopes}).value == value


def test_a_preset_comes_before_the_teams_threshold_for_anything_else():
    stored = {TEAM: StoredThreshold(threshold=0.82)}
    assert find(stored, {1: Preset(initial=0.9)}).value == 0.9
    narrower = {**stored, DOMAIN: StoredThreshold(threshold=0.81)}
    assert find(narrower, {1: Preset(initial=0.9)}).value == 0.81


@pytest.mark.parametrize("scope", [CONTEXT, DOMAIN, TEAM])
def test_an_override_comes_before_everything_computed_and_lifts_a_suspension(scope):
    stored = {
        CONTEXT: StoredThreshold(threshold=0.8, is_suspended=True),
        scope: StoredThreshold(threshold=0.8, is_suspended=True, override=0.75),
    }
    assert find(stored) == ThresholdInForce(value=0.75)


def test_the_narrowest_override_applies():
    stored = {
        CONTEXT: StoredThreshold(threshold=0.8, override=0.71),
        TEAM: StoredThreshold(threshold=0.8, override=0.94),
    }
    assert find(stored).value == 0.71


def test_other_teams_thresholds_do_not_apply():
    assert find({ThresholdScope(8, 1, 11): StoredThreshold(threshold=0.7)}).value == 0.92
    assert find({ThresholdScope(None, 1, 11): StoredThreshold(threshold=0.7)}).value == 0.92


def test_a_suspended_threshold_admits_nothing():
    found = find({CONTEXT: StoredThreshold(threshold=0.95, is_suspended=True)})
    assert not found.admits(1.0)
    assert found.required_confidence is None


def test_a_threshold_admits_what_is_at_or_above_it():
    found = ThresholdInForce(value=0.8)
    assert (found.admits(0.8), found.admits(0.79), found.required_confidence) == (True, False, 0.8)
