"""The pages of predictions: who sees which rows, and how people judge them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from execution.models import Speculation
from execution.prediction_outcome import RESOLVE_AFTER_S
from learning.models import PredictionTotal
from tests.factories import MembershipFactory, TeamFactory
from tests.gateway.admin_pages import act, entries, page, sign_in_root, sign_in_staff

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_without_sidebar")]


def suggested(**given):
    now = timezone.now()
    values = {
        "user": "ann",
        "context_hash": 1,
        "domain_hash": 2,
        "confidence": 0.9,
        "ranked_confidence": 0.9,
        "threshold": 0.92,
        "workflow_digest": "0" * 64,
        "created_at": now,
        "due_at": now + timedelta(seconds=RESOLVE_AFTER_S),
    }
    return Speculation.objects.create(**{**values, **given})


def total(team=None):
    return PredictionTotal.objects.create(
        team=team, form="intent", shadow=True, day=timezone.now().date(), decile=9, saved_ms=1_500
    )


def outcomes():
    return sorted(Speculation.objects.values_list("outcome", "verdict"))


def test_a_verdict_of_a_person_is_explicit_feedback_and_is_audited(client):
    sign_in_root(client)
    row = suggested()
    assert "1 of 1 suggestions judged" in act(client, Speculation, "accept", row)
    row.refresh_from_db()
    assert (row.outcome, row.explicit, row.weight) == ("hit", True, 1.0)
    assert entries() == [("suggestion.judged", str(row.pk), "root")]
    assert PredictionTotal.objects.get().hits == 1


def test_an_outcome_is_judged_once(client):
    sign_in_root(client)
    rows = [suggested(), suggested(due_at=timezone.now())]
    act(client, Speculation, "reject", rows[0])
    for action in ("reject", "accept"):
        told = act(client, Speculation, action, *rows)
        assert "2 of 2 were resolved already" in told
    assert outcomes() == [("", ""), ("rejected", "reject")]
    assert len(entries()) == 1


def test_people_see_and_judge_their_own_suggestions_and_those_of_their_teams(client):
    team = TeamFactory(name="ops")
    staff = sign_in_staff(client)
    MembershipFactory(user=staff, team=team)
    own, ours = suggested(user="staff"), suggested(team=team)
    others = [suggested(), suggested(team=TeamFactory(name="legal"))]
    shown = client.get(page(Speculation, "changelist")).content.decode()
    for row in (own, ours):
        assert page(Speculation, "change", row.pk) in shown
    for row in others:
        assert page(Speculation, "change", row.pk) not in shown
        assert client.get(page(Speculation, "change", row.pk)).status_code == 404
    act(client, Speculation, "accept", own, ours, *others)
    assert outcomes() == [("", ""), ("", ""), ("hit", "accept"), ("hit", "accept")]


def test_judging_needs_permission(client):
    staff = sign_in_staff(client)
    row = suggested(user="staff")
    change = staff.user_permissions.get(codename="change_speculation")
    staff.user_permissions.remove(change)
    assert "Accept:" not in client.get(page(Speculation, "changelist")).content.decode()
    act(client, Speculation, "accept", row)
    assert outcomes() == [("", "")]


def test_suggestions_are_found_by_id_run_and_user_and_by_outcome(client):
    sign_in_root(client)
    row = suggested(run="7d444840-9dc0-11d1-b245-5ffdce74fad2")
    other = suggested(user="bob", shadow=False)
    listed = page(Speculation, "changelist")
    for query in ({"q": str(row.pk)}, {"q": row.run}, {"q": "ann"}, {"shadow__exact": "1"}):
        shown = client.get(listed, query).content.decode()
        assert page(Speculation, "change", row.pk) in shown
        assert page(Speculation, "change", other.pk) not in shown
    assert "0 suggestions" not in client.get(listed, {"outcome__exact": "hit"}).content.decode()


def test_totals_of_other_teams_are_not_shown(client):
    staff, team = sign_in_staff(client), TeamFactory()
    MembershipFactory(user=staff, team=team)
    seen, hidden = [total(), total(team)], total(TeamFactory())
    shown = client.get(page(PredictionTotal, "changelist")).content.decode()
    assert "1.5 s" in shown
    assert all(page(PredictionTotal, "change", row.pk) in shown for row in seen)
    assert page(PredictionTotal, "change", hidden.pk) not in shown
