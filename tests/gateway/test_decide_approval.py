import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections

from execution.snapshot import compute_run_session
from execution.store.approvals import ApprovalNotPending, UnknownApproval
from gateway_project.access import audit
from gateway_project.access.roles import NotPermitted
from gateway_project.foundation.caller import Caller
from gateway_project.models import AuditEntry
from gateway_project.use_cases import decide_approval
from gateway_project.use_cases.decide_approval import SecondPersonRequired
from learning.memory.event import KIND_CODES, EventKind
from tests.execution.asking import late, waiting
from tests.factories import (
    MembershipFactory,
    ServerFactory,
    TeamFactory,
    ToolFactory,
    UserFactory,
)
from tests.patience import PATIENCE_S
from tools.models import Team

pytestmark = pytest.mark.django_db

SUPERUSER = Caller(user="root", team=None, person=None, scopes=frozenset({"*"}), kind="console")


@pytest.fixture
def team():
    return TeamFactory()


def caller(name, team=None):
    return Caller(
        user=name, team=team, person=None, scopes=frozenset({"call", "approve"}), kind="console"
    )


def member(team, role="member"):
    return caller(MembershipFactory(team=team, role=role).user.get_username())


@pytest.fixture
def bobs(sealer, team):
    """A call of bob, who acts for the team."""
    UserFactory(username="bob")
    return waiting(sealer, caller=caller("bob", team.pk))


def decide(who, approval, *, approve=True, via="console"):
    return decide_approval.decide_approval(who, approval.pk, approve=approve, via=via)


def remembered():
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, team_id, session, tool, data FROM learning_episodicevent")
        return [(*row[:4], json.loads(row[4])) for row in cursor.fetchall()]


@pytest.mark.parametrize("approve", [True, False])
def test_a_decision_is_remembered_in_the_session_of_its_run(bobs, team, approve):
    tool = ToolFactory(server=ServerFactory(name="s"), name="a")
    decide(SUPERUSER, bobs, approve=approve)
    run = bobs.run_id
    data = {
        "run": str(run),
        "decision": "approved" if approve else "rejected",
        "via": "console",
    }
    code = KIND_CODES[EventKind.HIL_DECISION]
    assert remembered() == [(code, team.pk, compute_run_session(run), tool.pk, data)]


def stands(approval):
    approval.refresh_from_db()
    return approval.status


@pytest.mark.parametrize("approve", [True, False])
def test_a_decision_is_written_down_with_it(bobs, approve):
    decide(SUPERUSER, bobs, approve=approve, via="command")
    word = "approved" if approve else "rejected"
    entry = AuditEntry.objects.get()
    assert (stands(bobs), entry.action) == (word, f"approval.{word}")
    assert (entry.actor, entry.kind, entry.subject) == ("root", "console", "s:a")
    assert entry.detail == {
        "approval": str(bobs.pk),
        "run": str(bobs.run_id),
        "task": "a",
        "for": "bob",
        "via": "command",
    }


def test_a_decision_that_cannot_be_written_down_is_none(bobs, monkeypatch):
    def broken(*_args, **_kwargs):
        raise OSError("the disk is full")

    monkeypatch.setattr(audit, "record_audit", broken)
    with pytest.raises(OSError, match="full"):
        decide(SUPERUSER, bobs)
    assert stands(bobs) == "pending"


def test_the_caller_may_decide_their_own_call(bobs):
    assert decide(caller("bob"), bobs).decided_by == "bob"


def test_an_admin_of_the_team_that_is_acted_for_may_decide(bobs, team):
    assert decide(member(team, "admin"), bobs).status == "approved"


def test_the_approval_does_not_exist_for_others(bobs, team, sealer):
    for who in (member(team), member(TeamFactory(), "admin"), caller("eve", team.pk)):
        with pytest.raises(UnknownApproval):
            decide(who, bobs)
        with pytest.raises(UnknownApproval):
            decide_approval.load_approval(who, bobs.pk, sealer=sealer)
        assert decide_approval.load_pending(who) == decide_approval.load_recent(who) == ()
    assert stands(bobs) == "pending"
    assert not AuditEntry.objects.exists()


def test_an_admin_of_no_team_decides_no_call_without_one(sealer, team):
    own = waiting(sealer, caller=caller("bob"))
    with pytest.raises(UnknownApproval):
        decide(member(team, "admin"), own)
    assert decide(caller("bob"), own).status == "approved"


def test_rights_are_checked_at_decision_time(bobs, team):
    membership = MembershipFactory(team=team, role="admin")
    who = caller(membership.user.get_username())
    membership.role = "member"
    membership.save()
    with pytest.raises(UnknownApproval):
        decide(who, bobs)


def test_users_see_the_approvals_they_may_decide(sealer, bobs, team):
    waiting(sealer, caller=caller("ann"))
    for who in (caller("bob"), member(team, "admin")):
        assert [one.id for one in decide_approval.load_pending(who)] == [bobs.pk]
        assert decide_approval.load_approval(who, bobs.pk, sealer=sealer).arguments == {
            "path": "/x"
        }
    assert len(decide_approval.load_pending(SUPERUSER)) == 2
    decide(SUPERUSER, bobs)
    assert [one.id for one in decide_approval.load_recent(caller("bob"))] == [bobs.pk]


def test_an_expired_approval_is_neither_decided_nor_audited(bobs):
    late(bobs)
    with pytest.raises(ApprovalNotPending):
        decide(SUPERUSER, bobs)
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_one_of_two_concurrent_decisions_wins_and_is_audited(sealer):
    approval = waiting(sealer, caller=caller("bob"))
    together = threading.Barrier(2)

    def person(approve):
        try:
            together.wait(PATIENCE_S)
            decide(replace(SUPERUSER, user=f"says {approve}"), approval, approve=approve)
        except ApprovalNotPending:
            return 0
        finally:
            connections.close_all()
        return 1

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(person, (True, False))) == 1
    entry = AuditEntry.objects.get()
    assert entry.actor == approval.__class__.objects.get().decided_by
    assert entry.action == f"approval.{stands(approval)}"


@pytest.mark.parametrize("approve", [True, False])
@pytest.mark.parametrize("via", ["console", "command", "api"])
def test_a_decision_needs_a_scope_of_its_own(bobs, team, via, approve):
    bob = replace(caller("bob", team.pk), scopes=frozenset({"call", "read", "control"}))
    with pytest.raises(NotPermitted, match="'approve'"):
        decide(bob, bobs, approve=approve, via=via)
    assert not AuditEntry.objects.exists()


def test_the_user_whom_a_client_asks_needs_no_more_than_the_call_does(bobs, team):
    bob = replace(caller("bob", team.pk), scopes=frozenset({"call"}))
    assert decide(bob, bobs, via="elicitation").status == "approved"


@pytest.mark.parametrize("via", ["console", "command", "api", "elicitation"])
@pytest.mark.parametrize("scope", ["approve", "*"])
def test_nobody_approves_their_own_call_where_a_team_requires_a_second_person(
    bobs, team, via, scope
):
    Team.objects.update(requires_second_person=True)
    bob = replace(caller("bob", team.pk), scopes=frozenset({scope}))
    with pytest.raises(SecondPersonRequired, match="somebody else"):
        decide(bob, bobs, via=via)
    assert not AuditEntry.objects.exists()
    assert decide(member(team, "admin"), bobs).status == "approved"


def test_leaving_the_team_out_escapes_no_rule_of_a_second_person(sealer, team):
    Team.objects.update(requires_second_person=True)
    MembershipFactory(team=TeamFactory(), user=UserFactory(username="bob"))
    bobs = waiting(sealer, caller=caller("bob"))
    assert decide(caller("bob"), bobs).status == "approved", "neither of the teams is bob's"
    MembershipFactory(team=team, user=User.objects.get(username="bob"))
    bobs = waiting(sealer, caller=caller("bob"))
    with pytest.raises(SecondPersonRequired):
        decide(caller("bob"), bobs)
    assert decide(SUPERUSER, bobs).status == "approved"


def test_anybody_rejects_their_own_call(bobs, team):
    Team.objects.update(requires_second_person=True)
    assert decide(caller("bob", team.pk), bobs, approve=False).status == "rejected"
