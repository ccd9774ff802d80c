import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, connections
from django.utils import timezone

from execution.models import Approval, Payload
from execution.status import RunStatus
from execution.store import approvals, runs
from execution.store.approvals import ApprovalNotPending, UnknownApproval
from gateway_project.foundation.caller import Caller
from tests.execution.asking import late, waiting
from tests.execution.stored import ADMIN, asked, ended, held, new, row
from tests.factories import TeamFactory
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db


def anybody(_team, _user):
    return True


def decide(approval, *, approve=True, by="ann", via="console", allowed=anybody):
    return approvals.decide_approval(approval.pk, approve=approve, by=by, via=via, allowed=allowed)


@pytest.mark.parametrize(("approve", "status"), [(True, "approved"), (False, "rejected")])
def test_a_decision_records_who_decided_when_and_how(sealer, approve, status):
    approval = waiting(sealer)
    decided = decide(approval, approve=approve, via="command")
    approval.refresh_from_db()
    assert decided.status == approval.status == status
    assert (approval.decided_by, approval.decided_via) == ("ann", "command")
    assert abs(approval.decided_at - timezone.now()) < timedelta(minutes=1)
    assert (decided.run, decided.task, decided.tool) == (approval.run_id, "a", "s:a")


@pytest.mark.parametrize("status", ["approved", "rejected", "used", "expired", "withdrawn"])
def test_a_decision_cannot_be_changed(sealer, status):
    approval = waiting(sealer)
    Approval.objects.filter(pk=approval.pk).update(status=status)
    with pytest.raises(ApprovalNotPending, match=f"is already {status}") as refused:
        decide(approval)
    assert refused.value.status == status
    approval.refresh_from_db()
    assert (approval.status, approval.decided_by) == (status, "")


def test_nothing_is_decided_when_its_time_is_up(sealer):
    approval = waiting(sealer)
    late(approval)
    with pytest.raises(ApprovalNotPending, match="is already expired"):
        decide(approval)
    approval.refresh_from_db()
    assert approval.status == "pending"


def test_nothing_is_decided_of_a_run_that_is_over(sealer):
    approval = waiting(sealer)
    run = row(approval.run_id)
    run.status = RunStatus.ABORTED
    run.save()
    with pytest.raises(ApprovalNotPending, match="is already withdrawn"):
        decide(approval)


def test_an_approval_of_others_is_as_unknown_as_a_missing_one(sealer):
    approval = waiting(sealer)
    asked_for = []

    def nobody(team, user):
        asked_for.append((team, user))
        return False

    with pytest.raises(UnknownApproval) as foreign:
        decide(approval, allowed=nobody)
    with pytest.raises(UnknownApproval) as missing:
        approvals.decide_approval(uuid4(), approve=True, by="ann", via="console", allowed=anybody)
    with pytest.raises(UnknownApproval):
        approvals.load_approval(approval.pk, allowed=nobody, sealer=sealer)
    assert str(foreign.value).replace(str(approval.pk), "") == str(missing.value).replace(
        str(missing.value).split()[2].rstrip(";"), ""
    )
    assert asked_for == [(None, "admin")] * 2
    approval.refresh_from_db()
    assert approval.status == "pending"


@pytest.mark.django_db(transaction=True)
def test_one_of_two_concurrent_decisions_wins(sealer):
    approval = waiting(sealer)
    together = threading.Barrier(2)

    def person(name):
        try:
            together.wait(PATIENCE_S)
            return decide(approval, approve=name == "ann", by=name).status
        except ApprovalNotPending as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        outcomes = dict(zip(("ann", "bob"), pool.map(person, ("ann", "bob")), strict=True))
    (loser,) = (
        name for name, outcome in outcomes.items() if isinstance(outcome, ApprovalNotPending)
    )
    winner = "bob" if loser == "ann" else "ann"
    approval.refresh_from_db()
    assert (approval.status, approval.decided_by) == (outcomes[winner], winner)
    assert outcomes[loser].status == approval.status


def test_the_exact_arguments_are_shown(sealer):
    approval = waiting(sealer)
    shown = approvals.load_approval(approval.pk, allowed=anybody, sealer=sealer)
    assert (shown.arguments, shown.reason, shown.user) == ({"path": "/x"}, "it deletes", "admin")
    assert shown.is_pending


def test_expired_arguments_are_not_shown_as_empty(sealer):
    approval = waiting(sealer)
    Payload.objects.filter(run=approval.run_id, kind="arguments").delete()
    assert approvals.load_approval(approval.pk, allowed=anybody, sealer=sealer).arguments is None


def test_pending_approvals_are_listed_oldest_first(sealer):
    kept = [waiting(sealer) for _ in range(2)]
    decide(waiting(sealer))
    late(waiting(sealer))
    assert [one.id for one in approvals.load_pending()] == [one.pk for one in kept]
    recent = approvals.load_recent()
    assert sorted(one.status for one in recent) == ["approved", "expired"]
    assert len(approvals.load_recent(limit=1)) == 1


def test_thousands_of_requests_do_not_hide_those_of_others(sealer, monkeypatch):
    monkeypatch.setattr(approvals, "MAX_LISTED_PER_USER", 2)
    bob = Caller(
        user="bob", team=TeamFactory().pk, person=None, scopes=frozenset({"call"}), kind="http"
    )
    many = [waiting(sealer, caller=ADMIN) for _ in range(4)]
    bobs = waiting(sealer, caller=bob)
    assert [one.id for one in approvals.load_pending()] == [many[0].pk, many[1].pk, bobs.pk]
    decide(many[0])
    assert [one.id for one in approvals.load_pending()] == [many[1].pk, many[2].pk, bobs.pk]
    assert [one.id for one in approvals.load_pending(["bob"])] == [bobs.pk]


def test_lists_can_be_restricted_to_users_and_teams(sealer):
    team = TeamFactory()
    bob = Caller(user="bob", team=team.pk, person=None, scopes=frozenset({"call"}), kind="http")
    anns = waiting(
        sealer, caller=Caller(user="ann", team=None, person=None, scopes=frozenset(), kind="http")
    )
    bobs = waiting(sealer, caller=bob)
    waiting(sealer, caller=ADMIN)
    assert [one.id for one in approvals.load_pending(["ann"])] == [anns.pk]
    assert [one.id for one in approvals.load_pending(["ann"], [team.pk])] == [anns.pk, bobs.pk]
    assert approvals.load_pending([]) == ()
    decide(bobs)
    assert [one.id for one in approvals.load_recent([], [team.pk])] == [bobs.pk]


def test_lists_cost_one_query(sealer, django_assert_num_queries):
    for _ in range(3):
        waiting(sealer)
    with django_assert_num_queries(1):
        assert len(approvals.load_pending()) == 3


def test_undecided_and_unused_approvals_expire(sealer):
    run, other = held(sealer).run, held(sealer).run
    unused, undecided, in_time = asked(sealer, run), waiting(sealer), asked(sealer, other)
    late(unused)
    late(undecided)
    assert approvals.expire_approvals() == 2
    assert approvals.expire_approvals() == 0
    statuses = {row.pk: row.status for row in Approval.objects.all()}
    assert statuses == {unused.pk: "expired", undecided.pk: "expired", in_time.pk: "approved"}


def test_expiry_uses_the_database_clock(sealer):
    approval = waiting(sealer)
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        (now,) = cursor.fetchone()
    assert timedelta(seconds=3_000) < approval.expires_at - now < timedelta(seconds=3_601)


def test_the_outcome_of_a_direct_call_is_delivered_once(sealer):
    first = ended(sealer, tasks=("call",), key="k", is_direct=True)
    again = runs.create_run(new(("call",), key="k", is_direct=True), sealer=sealer)
    assert (again.run, again.is_new) == (first, False)
    assert runs.mark_delivered(first)
    assert not runs.mark_delivered(first)
    assert runs.create_run(new(("call",), key="k", is_direct=True), sealer=sealer).is_new


def test_a_run_that_is_no_single_call_is_not_delivered(sealer):
    whole = ended(sealer, key="k")
    assert not runs.mark_delivered(whole)
    assert row(whole).idempotency_key
