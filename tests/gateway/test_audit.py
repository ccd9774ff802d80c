import pytest
from django.db import transaction
from django.utils import timezone

from gateway_project.access import audit
from gateway_project.foundation import telemetry
from gateway_project.foundation.caller import Caller
from gateway_project.models import AuditEntry
from tests.factories import TeamFactory, UserFactory

pytestmark = pytest.mark.django_db


def caller_for(user, team=None):
    return Caller(user=user, team=team, person=None, scopes=frozenset(), kind="console")


def test_audit_entries_record_actor_action_time_and_connection():
    before = timezone.now()
    ann, team = UserFactory(username="ann"), TeamFactory()
    with telemetry.bind_request_id("abc"):
        audit.record_audit(
            caller_for("ann", team.pk), "server.changed", "git", detail={"changed": ["args"]}
        )
    entry = AuditEntry.objects.get()
    assert (entry.user, entry.actor, entry.kind, entry.team) == (ann, "ann", "console", team)
    assert (entry.action, entry.subject) == ("server.changed", "git")
    assert (entry.request_id, entry.detail) == ("abc", {"changed": ["args"]})
    assert before <= entry.at <= timezone.now()
    assert str(entry).endswith("ann server.changed git")


def test_an_actor_without_a_user_row_is_recorded_by_name():
    audit.record_audit(caller_for("ghost"), "x.done", "y")
    entry = AuditEntry.objects.get()
    assert (entry.user, entry.actor, entry.request_id, entry.detail) == (None, "ghost", "", {})


def test_an_entry_outlives_the_user_and_the_team():
    ann, team = UserFactory(username="ann"), TeamFactory()
    audit.record_audit(caller_for("ann", team.pk), "x.done", "y")
    ann.delete()
    team.delete()
    entry = AuditEntry.objects.get()
    assert (entry.user, entry.team, entry.actor) == (None, None, "ann")


def test_rolled_back_changes_are_not_audited():
    with transaction.atomic():
        audit.record_audit(caller_for("ann"), "x.done", "y")
        transaction.set_rollback(True)
    assert not AuditEntry.objects.exists()
