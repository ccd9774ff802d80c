"""Thresholds follow from a team's resolved predictions, with a history and overrides."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction

from learning.memory.context import ContextKey
from learning.models import AdaptiveThreshold, ThresholdChange
from learning.prediction import ResolvedPrediction
from learning.store import thresholds
from learning.store.thresholds import ThresholdRules
from learning.thresholds.adaptive import AdaptivePolicy
from learning.thresholds.in_force import ThresholdScope, ThresholdTable
from learning.thresholds.policy import INITIAL_THRESHOLD, Preset
from tests.factories import TeamFactory

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
KEY = ContextKey(context=11, domain=1)
OTHER = ContextKey(context=21, domain=2)


def resolved(team=None, *, succeeded=True, key=KEY, confidence=0.8, at=0.0):
    return ResolvedPrediction(
        confidence=confidence, succeeded=succeeded, weight=1.0, at=at, context=key, team=team
    )


class History:
    """Resolved predictions of all teams, as the store of predictions returns them."""

    def __init__(self, *predictions):
        self.predictions = list(predictions)

    def load(self, team, *, limit):
        return [one for one in self.predictions if one.team == team][-limit:]

    def rules(self, presets=None):
        return ThresholdRules(
            policy=AdaptivePolicy(), presets=presets or {}, load_resolved=self.load
        )


def record(predictions, *, presets=None, history=None):
    known = History(*predictions) if history is None else history
    thresholds.record_resolved(predictions, rules=known.rules(presets), at=AT)


def find(team, key=KEY, presets=None):
    return ThresholdTable(thresholds.load_stored(), presets or {}).find(team, key)


def test_successes_lower_the_threshold_of_their_context_domain_and_team():
    record([resolved() for _ in range(200)])
    stored = thresholds.load_stored()
    assert set(stored) == {
        ThresholdScope(None, None, None),
        ThresholdScope(None, 1, None),
        ThresholdScope(None, 1, 11),
    }
    assert all(one.threshold < INITIAL_THRESHOLD for one in stored.values())


def test_a_new_context_leans_on_its_domain_and_a_new_domain_on_the_team():
    record([resolved() for _ in range(200)])
    for key in (ContextKey(context=12, domain=1), OTHER):
        assert find(None, key).value < INITIAL_THRESHOLD


def test_a_thousand_outcomes_of_one_team_change_nothing_for_another():
    mine, other = TeamFactory().pk, TeamFactory().pk
    before = find(other)
    record([resolved(mine, succeeded=number % 3 > 0) for number in range(1_000)])
    assert find(other) == before
    assert find(None) == before
    assert find(mine) != before
    assert not AdaptiveThreshold.objects.exclude(team=mine).exists()


def test_recording_the_same_outcomes_twice_changes_nothing_more():
    known = [resolved() for _ in range(100)]
    record(known)
    before = thresholds.load_stored()
    changes = ThresholdChange.objects.count()
    record(known)
    assert thresholds.load_stored() == before
    assert ThresholdChange.objects.count() == changes


def test_a_change_is_recorded_with_its_evidence():
    record([resolved() for _ in range(100)])
    row = AdaptiveThreshold.objects.get(context_hash=11)
    change = ThresholdChange.objects.get(threshold=row)
    assert (change.before, change.after, change.user) == (None, row.threshold, "")
    assert change.evidence["level"] == row.level == "context"
    assert change.evidence["expected_success"] == pytest.approx(row.expected_success, abs=1e-4)
    assert row.success_bound <= row.expected_success


def test_failures_suspend_and_the_suspension_is_in_the_history():
    record([resolved(succeeded=False, confidence=0.97) for _ in range(200)])
    found = find(None)
    assert found.is_suspended
    assert not found.admits(1.0)
    assert ThresholdChange.objects.filter(evidence__suspended=True).exists()


def test_an_override_applies_until_it_is_removed_and_names_its_administrator():
    record([resolved(succeeded=False, confidence=0.97) for _ in range(200)])
    row = AdaptiveThreshold.objects.get(context_hash=11)
    thresholds.set_override(row.pk, 0.75, user="root", at=AT)
    assert find(None).value == 0.75
    assert find(None).admits(0.8)
    change = ThresholdChange.objects.filter(threshold=row).latest("pk")
    assert (change.reason, change.user, change.before, change.after) == (
        "override", "root", row.threshold, 0.75,
    )  # fmt: skip
    thresholds.set_override(row.pk, None, user="root", at=AT)
    assert find(None).is_suspended


def test_an_override_outlives_new_outcomes():
    known = [resolved() for _ in range(100)]
    record(known)
    thresholds.set_override(
        AdaptiveThreshold.objects.get(context_hash=11).pk, 0.95, user="root", at=AT
    )
    record([*known, resolved()])
    assert find(None).value == 0.95


def test_a_preset_is_stored_with_the_threshold_of_its_domain():
    presets = {1: Preset(initial=0.80)}
    assert find(None, presets=presets).value == 0.80
    record([resolved(confidence=0.6)], presets=presets)
    assert AdaptiveThreshold.objects.get(context_hash=11).preset == 0.80
    assert find(None, presets=presets).value == pytest.approx(0.80, abs=0.03)
    assert AdaptiveThreshold.objects.get(domain_hash=None).preset is None


@pytest.mark.parametrize(
    "values",
    [
        {"threshold": 0.69},
        {"threshold": 0.96},
        {"threshold": 0.9, "override": 0.5},
        {"threshold": 0.9, "preset": 0.99},
        {"threshold": 0.9, "context_hash": 3},
    ],
)
def test_the_database_refuses_what_is_out_of_bounds(values):
    with pytest.raises(IntegrityError), transaction.atomic():
        AdaptiveThreshold.objects.create(policy="p", level="none", updated_at=AT, **values)


def test_the_database_holds_one_threshold_for_each_scope():
    values = {"policy": "p", "level": "none", "threshold": 0.9, "updated_at": AT}
    AdaptiveThreshold.objects.create(**values)
    with pytest.raises(IntegrityError), transaction.atomic():
        AdaptiveThreshold.objects.create(**values)


def test_a_threshold_keeps_the_sealed_context_of_the_outcomes_it_is_from():
    named = replace(resolved(), context_sealed="sealed")
    record([named])
    record([resolved()], history=History(named, resolved()))
    assert set(AdaptiveThreshold.objects.values_list("domain_hash", "context_sealed")) == {
        (None, ""), (1, "sealed"),
    }  # fmt: skip


def test_a_threshold_is_preset_once_and_outcomes_keep_its_override():
    pk = thresholds.preset_threshold(None, KEY, is_domain=False, context_sealed="s", at=AT)
    again = thresholds.preset_threshold(None, KEY, is_domain=False, context_sealed="t", at=AT)
    assert again == pk
    thresholds.set_override(pk, 0.75, user="root", at=AT)
    record([resolved(succeeded=False) for _ in range(30)])
    assert find(None).value == 0.75
