import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import connections

from execution.changes import RunChanges, RunEvent, RunFenced
from execution.models import Approval, WorkflowExecution
from execution.snapshot import CannotResume
from execution.status import RunStatus, TaskStatus
from execution.store import approvals, claimable_runs, commands, leases, runs
from execution.workflow import RunOptions
from gateway_project.foundation.caller import Caller
from tests.execution.stored import (
    ADMIN,
    AT,
    CALL,
    asked,
    change,
    changes,
    ended,
    held,
    new,
    row,
    shift_clock,
    task_row,
    write,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db


def claimable(**said):
    return [
        one.run for one in claimable_runs.load_claimable_runs(**{"each": 9, "limit": 9, **said})
    ]


def take(sealer, run, *, owner="them", dead=()):
    return leases.acquire_lease(run, owner=owner, lease_s=60, sealer=sealer, dead=dead)


def test_a_queued_run_is_claimed_with_its_full_state(sealer):
    options = RunOptions(per_layer_validation=True, deadline_s=9_999)
    made = held(sealer, ["a", "b"], owner="", intent="tidy up", options=options)
    taken = take(sealer, made.run)
    assert (taken.run, taken.epoch, taken.last_seq, taken.was_lost) == (made.run, 1, 1, False)
    assert (taken.status, taken.options) == (RunStatus.QUEUED, options)
    assert list(taken.workflow.by_id) == ["a", "b"]
    assert taken.caller == ADMIN
    assert abs(taken.deadline_at - row(made.run).deadline_at) < timedelta(minutes=5)
    assert {place: task.status for place, task in taken.tasks.items()} == {
        ("a", -1): TaskStatus.PENDING,
        ("b", -1): TaskStatus.PENDING,
    }
    assert row(made.run).owner == "them"


def test_a_lost_run_is_claimed_in_its_last_state(sealer):
    options = RunOptions(per_layer_validation=True)
    escaped = new(["a\x00", "b"], options=options)
    run = runs.create_run(replace(escaped, workflow=new(["b"]).workflow), sealer=sealer).run
    done = change("a\x00", "succeeded", attempts=2, result={"n": 1}, **CALL)
    report = RunEvent(seq=2, kind="layer_complete", at=AT, data={"layer": 1, "of": 2})
    write(sealer, RunChanges(run=run, epoch=1, tasks=(done,), events=(report,)))
    write(
        sealer,
        changes(run, change("b", "running", attempts=1), seqs=[3], status=RunStatus.RUNNING),
    )
    approval = asked(sealer, held(sealer).run)
    Approval.objects.filter(id=approval.pk).update(run=run, task="b")
    taken = take(sealer, run, dead={"us"})
    assert (taken.was_lost, taken.epoch, taken.last_seq) == (True, 2, 3)
    first, second = taken.tasks["a\x00", -1], taken.tasks["b", -1]
    assert (first.status, first.attempts, first.arguments_digest) == ("succeeded", 2, "e" * 64)
    assert (second.status, second.approval) == ("running", approval.pk)


def test_a_run_cannot_be_claimed_before_its_lease_expires(sealer):
    run = held(sealer, lease_s=60).run
    assert take(sealer, run) is None
    assert claimable() == []
    shift_clock(run, seconds=61)
    assert claimable() == [run]
    assert take(sealer, run).epoch == 2
    assert write(sealer, changes(run, change(), seqs=[2], epoch=1))[0] is not None


def test_a_dead_owners_run_is_claimed_at_once(sealer):
    run = held(sealer).run
    assert leases.load_owners() == {"us"}
    assert claimable(dead={"us"}) == [run]
    assert take(sealer, run, dead={"somebody"}) is None
    assert take(sealer, run, dead={"us"}).was_lost


def test_the_clock_of_this_machine_plays_no_part(sealer, monkeypatch):
    run = held(sealer, lease_s=60).run
    for shift in (timedelta(days=-400), timedelta(days=400)):
        monkeypatch.setattr(
            "time.time", lambda shift=shift: AT.timestamp() + shift.total_seconds()
        )
        monkeypatch.setattr("django.utils.timezone.now", lambda shift=shift: AT + shift)
        assert claimable() == []
        assert leases.renew_leases("us", {run: 1}, lease_s=60) == {run}
        assert take(sealer, run) is None


@pytest.mark.django_db(transaction=True)
def test_exactly_one_of_many_concurrent_claims_succeeds(sealer):
    runs = [held(sealer, owner="").run, held(sealer).run]
    ready = threading.Barrier(8)

    def attempt(number):
        try:
            taken = []
            for run in runs:
                ready.wait(PATIENCE_S)
                taken.append(take(sealer, run, owner=f"p{number}", dead={"us"}))
            return taken
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(attempt, range(8)))
    for run, *_, epoch in [(runs[0], 1), (runs[1], 2)]:
        winners = [one for some in outcomes for one in some if one is not None and one.run == run]
        assert [one.epoch for one in winners] == [epoch]


def test_only_the_owner_renews_a_lease(sealer):
    kept, lost = held(sealer).run, held(sealer).run
    take(sealer, lost, dead={"us"})
    assert leases.renew_leases("us", {kept: 1, lost: 1}, lease_s=3_600) == {kept}
    shift_clock(kept, seconds=3_000)
    assert claimable() == []
    assert leases.renew_leases("them", {kept: 1}, lease_s=60) == set()


def test_a_run_is_taken_over_only_if_claimed_by_another_or_deleted(sealer):
    kept, ended_here, given_back, taken, deleted = [held(sealer).run for _ in range(5)]
    mine = dict.fromkeys((kept, ended_here, given_back, taken, deleted), 1)
    write(sealer, changes(ended_here, seqs=[2], status=RunStatus.SUCCEEDED))
    assert leases.release_lease(given_back, 1)
    take(sealer, taken, dead={"us"})
    WorkflowExecution.objects.filter(id=deleted).delete()
    assert leases.renew_leases("us", mine, lease_s=60) == {kept}
    assert leases.find_taken_over("us", mine) == {taken, deleted}


def test_the_write_that_ends_a_run_releases_it(sealer):
    run = held(sealer).run
    write(sealer, changes(run, seqs=[2], status=RunStatus.PAUSED))
    assert row(run).owner == "us"
    write(sealer, changes(run, seqs=[3], status=RunStatus.SUCCEEDED))
    assert (row(run).owner, row(run).lease_until) == ("", None)
    assert leases.renew_leases("us", {run: 1}, lease_s=60) == set()
    assert not leases.release_lease(run, 1)
    assert leases.is_run_at_rest(run)


def test_an_end_can_be_rewritten_but_nothing_follows_it(sealer):
    run = held(sealer).run
    end = changes(run, change("a", "succeeded"), seqs=[2], status=RunStatus.SUCCEEDED)
    assert write(sealer, end) == write(sealer, end) == [None]
    (late,) = write(sealer, changes(run, change("a", "failed"), seqs=[3]))
    assert isinstance(late, RunFenced)
    assert task_row(run)["status"] == "succeeded"


def test_a_run_released_unfinished_can_be_claimed_by_anyone(sealer):
    run = held(sealer).run
    write(sealer, changes(run, seqs=[2], status=RunStatus.RUNNING))
    assert not leases.release_lease(run, 7)
    assert leases.release_lease(run, 1)
    assert not leases.release_lease(run, 1)
    assert claimable() == [run]
    assert not take(sealer, run).was_lost


@pytest.mark.parametrize("status", ["paused", "waiting", "unknown"])
def test_a_resting_run_is_claimed_for_a_command(sealer, status):
    run = held(sealer).run
    write(sealer, changes(run, seqs=[2], status=RunStatus(status)))
    leases.release_lease(run, 1)
    assert claimable() == []
    assert take(sealer, run) is None
    commands.add_command(run, "abort", caller=ADMIN, sealer=sealer)
    assert claimable() == [run]
    assert take(sealer, run).status == status


@pytest.mark.parametrize(
    ("decision", "wakes"),
    [("approved", True), ("rejected", True), ("expired", True), ("pending", False)],
)
def test_a_waiting_run_is_claimed_after_a_decision(sealer, decision, wakes):
    run = held(sealer).run
    approval = asked(sealer, run, status="pending")
    write(sealer, changes(run, seqs=[3], status=RunStatus.WAITING))
    leases.release_lease(run, 1)
    Approval.objects.filter(id=approval.pk).update(status=decision)
    assert claimable() == ([run] if wakes else [])
    if wakes:
        granted = approval.pk if decision == "approved" else None
        assert take(sealer, run).tasks["a", -1].approval == granted


def test_an_expired_approval_wakes_its_run(sealer):
    run = held(sealer).run
    asked(sealer, run, status="pending")
    write(sealer, changes(run, seqs=[3], status=RunStatus.WAITING))
    leases.release_lease(run, 1)
    Approval.objects.update(expires_at=AT - timedelta(days=999))
    assert claimable() == [run]
    assert take(sealer, run).tasks["a", -1].approval is None


def test_a_decision_does_not_wake_a_paused_run(sealer):
    run = held(sealer).run
    asked(sealer, run, status="approved")
    write(sealer, changes(run, seqs=[3], status=RunStatus.PAUSED))
    leases.release_lease(run, 1)
    assert claimable() == []


@pytest.mark.parametrize(
    ("status", "wakes"), [("paused", True), ("waiting", True), ("unknown", False)]
)
def test_a_resting_run_is_claimed_at_its_deadline(sealer, status, wakes):
    run = held(sealer, options=RunOptions(deadline_s=100)).run
    write(sealer, changes(run, seqs=[2], status=RunStatus(status)))
    leases.release_lease(run, 1)
    assert claimable() == []
    shift_clock(run, seconds=101)
    assert claimable() == ([run] if wakes else [])


def test_an_ended_run_is_never_claimed(sealer):
    run = ended(sealer)
    shift_clock(run, seconds=999)
    assert claimable(dead={"us"}) == []
    assert take(sealer, run, dead={"us"}) is None
    assert leases.load_owners() == set()


def test_a_run_whose_workflow_has_expired_is_claimed_and_cannot_be_resumed(sealer):
    run = held(sealer, owner="").run
    WorkflowExecution.objects.get().payloads.all().delete()
    with pytest.raises(CannotResume) as refused:
        take(sealer, run)
    assert refused.value.code == "expired"
    assert row(run).owner == "them", "claimed, so that it can be marked failed"


def test_remaining_time_is_converted_to_the_local_clock(sealer, monkeypatch):
    run = held(sealer, owner="", options=RunOptions(deadline_s=10_000)).run

    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return AT + timedelta(days=400)

    monkeypatch.setattr(leases, "datetime", Ahead)
    left = take(sealer, run).deadline_at - Ahead.now()
    assert timedelta(seconds=9_000) < left <= timedelta(seconds=10_000)


def test_open_approvals_count_even_if_the_clock_was_set_back(sealer):
    run = held(sealer).run
    first = asked(sealer, run)
    Approval.objects.filter(id=first.pk).update(
        status="withdrawn", created_at=first.created_at + timedelta(hours=1)
    )
    second = asked(sealer, run, seq=3)
    write(sealer, changes(run, seqs=[4], status=RunStatus.WAITING))
    assert [one.approval for one in approvals.load_decisions(run)] == [second.pk]
    leases.release_lease(run, 1)
    assert take(sealer, run).tasks["a", -1].approval == second.pk


def test_a_run_is_resumed_under_the_group_it_was_started_under(sealer):
    desk = Caller(
        user="admin", team=None, person=None, scopes=frozenset(), kind="http", group="desk"
    )
    run = held(sealer, owner="", caller=desk).run
    assert take(sealer, run).caller == desk
    assert take(sealer, held(sealer, owner="").run).caller.group is None
