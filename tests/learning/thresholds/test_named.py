"""Policies and presets by name."""

import pytest

from learning.thresholds.adaptive import AdaptivePolicy
from learning.thresholds.named import COMPARED_POLICIES, make_policy, parse_presets
from learning.thresholds.policy import FixedPolicy, Preset


def test_each_name_makes_its_policy():
    made = [type(make_policy(name)) for name in COMPARED_POLICIES]
    assert made == [AdaptivePolicy, FixedPolicy, FixedPolicy]


@pytest.mark.parametrize("name", ["", "best", "fixed", "fixed:", "fixed:nan", "fixed:0.5", "ema"])
def test_an_unknown_policy_is_refused_with_those_that_exist(name):
    with pytest.raises(ValueError, match="there are adaptive, or fixed:T"):
        make_policy(name)


def test_presets_are_keyed_by_the_hash_of_their_domain():
    found = parse_presets(" files=0.85,, web=0.9:0.8-0.95 ", {"files": 1, "web": 2}.__getitem__)
    assert found == {1: Preset(initial=0.85), 2: Preset(initial=0.9, lowest=0.8, highest=0.95)}
    assert parse_presets("", len) == {}


@pytest.mark.parametrize(
    "text", ["files", "files=", "=0.9", "files=0.6", "files=2", "files=0.9:0.6-0.95", "f=0.9:0.8-"]
)
def test_a_malformed_preset_is_refused(text):
    with pytest.raises(ValueError, match=r"form|within|lowest"):
        parse_presets(text, len)
