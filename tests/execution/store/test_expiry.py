from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from execution.models import Approval, ExecutionEvent, Payload, TaskRun, WorkflowExecution
from execution.status import RunStatus
from execution.store import commands, expiry, views
from execution.store.expiry import ExpiryCounts
from gateway_project.foundation import advisory
from tests.execution.stored import (
    ADMIN,
    asked,
    change,
    changes,
    ended,
    held,
    row,
    shift_clock,
    task_row,
    write,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db
DAY_S = 86_400


def sweep():
    counted = expiry.count_expired(payload_days=7, run_days=90)
    deleted = expiry.delete_expired(payload_days=7, run_days=90)
    assert counted == deleted
    return deleted


def aged(run, days):
    shift_clock(run, seconds=days * DAY_S)
    return run


def test_payloads_are_deleted_a_week_after_the_end_of_a_run(sealer):
    old, fresh = aged(ended(sealer, intent="x"), 7.1), aged(ended(sealer), 6.9)
    assert sweep() == ExpiryCounts(payloads=1)
    assert sweep() == ExpiryCounts()
    assert set(Payload.objects.values_list("run", flat=True)) == {fresh}
    shown = views.load_view(old, caller=ADMIN, sealer=sealer)
    assert (shown.has_expired, shown.workflow, shown.intent) == (True, None, "")
    assert (shown.status, len(shown.tasks)) == ("succeeded", 2)
    assert not views.load_view(fresh, caller=ADMIN, sealer=sealer, results=False).has_expired


def test_a_run_is_deleted_after_its_retention(sealer):
    aged(ended(sealer), 91)
    kept = aged(ended(sealer), 89)
    assert sweep().runs == 1
    assert list(WorkflowExecution.objects.values_list("id", flat=True)) == [kept]
    for model in (TaskRun, ExecutionEvent):
        assert set(model.objects.values_list("run", flat=True)) == {kept}


def test_a_run_that_waited_too_long_fails_as_expired(sealer):
    run = held(sealer, ["a", "b", "c"]).run
    approval = asked(sealer, run, status="pending")
    lost = change("b", "running", attempts=1)
    write(sealer, changes(run, lost, seqs=[3], status=RunStatus.WAITING))
    told = commands.add_command(run, "resume", caller=ADMIN, sealer=sealer)
    aged(run, 8)
    assert sweep() == ExpiryCounts(failed=1, payloads=1)
    approval.refresh_from_db()
    stands = row(run)
    assert (stands.status, stands.error_code, stands.epoch) == ("failed", "expired", 2)
    assert (stands.owner, stands.ended_at is not None) == ("", True)
    assert [task_row(run, task)["status"] for task in "abc"] == [
        "cancelled",
        "unknown",
        "skipped",
    ]
    assert (approval.status, commands.load_outcome(told)) == ("withdrawn", "run_over")
    *_, a, b, c, last = views.load_events(run)
    assert (last.seq, last.kind) == (stands.last_seq, "run_ended")
    assert last.data == {"status": "failed"}
    assert [one.kind for one in (a, b, c)] == ["task_cancelled", "task_unknown", "task_skipped"]


def test_an_owned_run_is_left_alone(sealer):
    run = held(sealer, lease_s=60 * DAY_S).run
    aged(run, 8)
    assert sweep() == ExpiryCounts()
    assert row(run).status == "queued"


def test_a_key_is_forgotten_after_a_day(sealer):
    old, fresh = held(sealer, key="old").run, held(sealer, key="fresh").run
    aged(old, 1.1)
    assert sweep() == ExpiryCounts(keys=1)
    assert (row(old).idempotency_key, row(fresh).idempotency_key != "") == ("", True)


def test_many_are_removed_in_parts(sealer, monkeypatch):
    monkeypatch.setattr(expiry, "RUNS_PER_CHUNK", 2)
    monkeypatch.setattr(expiry, "MAX_FAILED_PER_CHUNK", 2)
    for _ in range(5):
        aged(ended(sealer), 91)
    for _ in range(5):
        aged(held(sealer, owner="").run, 8)
    assert sweep() == ExpiryCounts(payloads=10, runs=5, failed=5)
    assert not Approval.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_sweeps_do_not_conflict(sealer):
    aged(ended(sealer), 8)

    def meanwhile():
        try:
            return expiry.delete_expired(payload_days=7, run_days=90)
        finally:
            connections.close_all()

    with advisory.try_lock(expiry.LOCK_NAME, wait_s=0) as is_ours, ThreadPoolExecutor(1) as pool:
        assert is_ours
        assert pool.submit(meanwhile).result(PATIENCE_S) == ExpiryCounts()
    assert sweep() == ExpiryCounts(payloads=1)
