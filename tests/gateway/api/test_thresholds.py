"""Thresholds are set by the name of the work, and policies compared, over REST."""

import pytest
from django.conf import settings

from gateway_project.foundation import sealing
from learning.memory.context import describe_context, hash_context
from learning.models import AdaptiveThreshold
from learning.store import thresholds
from learning.thresholds.in_force import ThresholdTable

pytestmark = pytest.mark.django_db


def test_a_threshold_is_set_by_name_before_anything_was_asked(root):
    body = {"domain": "Payments", "override": 0.94}
    created = root.post("thresholds/", body)
    assert created.status_code == 201
    assert (created.json()["scope"], created.json()["override"]) == ("domain payments", 0.94)
    assert "payments" not in AdaptiveThreshold.objects.get().context_sealed
    narrow = {**body, "workflow_type": "refund", "complexity": "few", "override": 0.95}
    assert root.post("thresholds/", narrow).json()["scope"] == "refund in payments, few"
    again = root.post("thresholds/", {**body, "override": 0.8}).json()
    assert (again["id"], again["override"]) == (created.json()["id"], 0.8)
    digest = sealing.load_or_create_sealer(settings.FOREGATE.home).digest
    key = hash_context(describe_context(domain="payments", complexity="many"), digest)
    assert ThresholdTable(thresholds.load_stored()).find(None, key).value == 0.8


@pytest.mark.parametrize(
    "body",
    [{"override": 0.9}, {"domain": "", "override": 0.9}, {"domain": "x"},
     {"domain": "x", "override": 0.5}],
)  # fmt: skip
def test_a_threshold_is_set_for_a_domain_within_its_bounds(root, body):
    assert root.post("thresholds/", body).status_code == 400
    assert not AdaptiveThreshold.objects.exists()


def test_policies_are_compared_on_the_outcomes_of_the_team(root):
    found = root.get("thresholds/backtest/?policy=adaptive&policy=fixed:0.92").json()
    assert [one["policy"] for one in found["policies"]] == ["adaptive", "fixed:0.92"]
    assert (found["predictions"], found["policies"][0]["success"]) == (0, None)
    refused = root.get("thresholds/backtest/?policy=best")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_arguments")
