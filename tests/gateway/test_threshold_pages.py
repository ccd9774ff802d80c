"""Pages of thresholds: their evidence, who sees which, and how an administrator overrides one."""

import pytest

from learning.models import AdaptiveThreshold, ThresholdChange
from tests.factories import SEEN_AT, MembershipFactory, TeamFactory
from tests.gateway.admin_pages import entries, page, sign_in_root, sign_in_staff

pytestmark = pytest.mark.django_db


def stored(team=None, **values):
    given = {
        "policy": "adaptive",
        "threshold": 0.88,
        "level": "context",
        "domain_hash": 1,
        "context_hash": 11,
        "expected_success": 0.93,
        "success_bound": 0.91,
        "updated_at": SEEN_AT,
        **values,
    }
    row = AdaptiveThreshold.objects.create(team=team, **given)
    ThresholdChange.objects.create(threshold=row, after=0.88, reason="evidence", at=SEEN_AT)
    return row


def override(client, row, value):
    return client.post(page(AdaptiveThreshold, "change", row.pk), {"override": value})


def test_the_page_shows_the_evidence_and_links_to_the_history(client):
    sign_in_root(client)
    row = stored()
    shown = client.get(page(AdaptiveThreshold, "change", row.pk)).content.decode()
    assert "0.93 (at least 0.91)" in shown
    history = f"{page(ThresholdChange, 'changelist')}?threshold={row.pk}"
    assert history in shown
    assert client.get(history).status_code == 200


def test_a_threshold_without_evidence_shows_no_success(client):
    sign_in_root(client)
    stored(expected_success=None, success_bound=None)
    stored(context_hash=12, success_bound=None)
    shown = client.get(page(AdaptiveThreshold, "changelist")).content.decode()
    assert "0.93" in shown
    assert "at least" not in shown


def test_an_override_is_stored_recorded_and_audited(client):
    sign_in_root(client)
    row = stored()
    assert override(client, row, "0.75").status_code == 302
    row.refresh_from_db()
    assert (row.override, row.threshold) == (0.75, 0.88)
    change = ThresholdChange.objects.latest("pk")
    assert (change.before, change.after, change.user, change.reason) == (
        0.88, 0.75, "root", "override",
    )  # fmt: skip
    assert entries() == [("threshold.overridden", str(row), "root")]


def test_an_override_can_be_removed(client):
    sign_in_root(client)
    row = stored(override=0.75)
    override(client, row, "")
    row.refresh_from_db()
    assert row.override is None
    assert ThresholdChange.objects.latest("pk").after == 0.88


def test_saving_without_a_change_records_nothing(client):
    sign_in_root(client)
    row = stored(override=0.75)
    override(client, row, "0.75")
    assert ThresholdChange.objects.count() == 1
    assert entries() == []


@pytest.mark.parametrize("value", ["0.5", "0.96", "much"])
def test_an_override_out_of_bounds_is_refused(client, value):
    sign_in_root(client)
    row = stored()
    assert override(client, row, value).status_code == 200
    row.refresh_from_db()
    assert row.override is None


def test_only_superusers_override(client):
    sign_in_staff(client)
    row = stored()
    assert override(client, row, "0.75").status_code == 403
    row.refresh_from_db()
    assert row.override is None


@pytest.mark.parametrize("model", [AdaptiveThreshold, ThresholdChange])
def test_staff_see_thresholds_of_their_teams_and_of_no_team(client, model):
    staff = sign_in_staff(client)
    own, foreign = TeamFactory(), TeamFactory()
    MembershipFactory(user=staff, team=own)
    rows = {
        name: stored(team) for name, team in {"own": own, "none": None, "foreign": foreign}.items()
    }
    for name, row in rows.items():
        pk = row.pk if model is AdaptiveThreshold else row.changes.get().pk
        shown = client.get(page(model, "change", pk))
        assert (shown.status_code == 200) is (name != "foreign")
