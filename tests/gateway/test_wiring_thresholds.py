"""Thresholds as a process holds them: from settings, and from outcomes."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from execution.speculation.outcome import Verdict
from execution.store import speculations
from execution.store.speculations import NewSpeculation
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config
from gateway_project.readiness import NotReady
from gateway_project.wiring.memory import load_presets, make_thresholds
from learning import outcomes
from learning.memory.context import ContextKey, describe_context, hash_context
from learning.store import thresholds as store
from learning.thresholds.in_force import ThresholdTable
from learning.thresholds.policy import FixedPolicy, Preset

KEY = ContextKey(context=11, domain=1)
AT = datetime(2026, 11, 23, 12, tzinfo=UTC)


def configured(home, **values):
    return Config(home=home, **values)


def test_the_policy_is_that_of_the_setting(tmp_path):
    assert make_thresholds(configured(tmp_path)).policy.name == "adaptive"
    made = make_thresholds(configured(tmp_path, threshold_policy="fixed:0.9"))
    assert made.policy == FixedPolicy(0.9)


@pytest.mark.parametrize("values", [{"threshold_policy": "best"}, {"threshold_presets": "files"}])
def test_a_malformed_setting_is_a_reason_not_to_start(tmp_path, values):
    with pytest.raises(NotReady, match="thresholds: "):
        make_thresholds(configured(tmp_path, **values))


def test_presets_apply_to_the_domains_that_contexts_name(tmp_path):
    config = configured(tmp_path, threshold_presets="Files=0.8")
    sealer = sealing.load_or_create_sealer(tmp_path)
    key = hash_context(describe_context(domain="files"), sealer.digest)
    assert load_presets(config) == {key.domain: Preset(initial=0.8)}
    assert make_thresholds(config).cache.find(None, key).value == 0.8


@pytest.mark.django_db
def test_outcomes_of_real_predictions_move_the_threshold(tmp_path):
    thresholds = make_thresholds(configured(tmp_path))
    before = thresholds.cache.find(None, KEY).value
    for number in range(60):
        given = NewSpeculation(
            id=uuid4(), user="ann", team=None, context_hash=KEY.context, domain_hash=KEY.domain,
            confidence=0.8, ranked_confidence=0.8, threshold=before, is_admitted=False,
            is_runnable=True, tools=(), digest="d" * 64, saves_ms=None, at=AT,
        )  # fmt: skip
        speculations.insert_speculations([given])
        outcomes.give_verdict(
            given.id,
            Verdict.ACCEPT,
            allowed=lambda _team, _user: True,
            at=AT + timedelta(seconds=number),
            learn=thresholds.learn if number == 59 else outcomes.learn_nothing,
        )
    assert ThresholdTable(store.load_stored()).find(None, KEY).value < before
