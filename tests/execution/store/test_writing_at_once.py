"""What is written in one round trip: outside of the transaction of a test."""

import pytest
from django.db import DataError, transaction

from execution.changes import RunFenced
from execution.models import Payload
from execution.store import closing, fencing, prepared, views, writing
from tests.execution.stored import change, changes, held, row, task_row, write

pytestmark = pytest.mark.django_db(transaction=True)


def seqs(run):
    return [event.seq for event in views.load_events(run)]


def test_a_valid_batch_is_written_without_prior_queries(sealer, monkeypatch):
    runs = [held(sealer).run for _ in range(2)]
    monkeypatch.setattr(fencing, "lock_leases", pytest.fail)
    batch = [changes(runs[0], change("a", "succeeded", result={"n": 1}), seqs=[2])]
    batch += [changes(runs[1], change("b", item=0), seqs=[seq]) for seq in (2, 3)]
    assert write(sealer, *batch) == [None, None, None]
    assert [seqs(run) for run in runs] == [[1, 2], [1, 2, 3]]


@pytest.mark.parametrize("stale", [{"epoch": 0}, {"epoch": 2}, {"owner": ""}])
def test_a_fenced_entry_does_not_block_others(sealer, stale):
    ours, taken = held(sealer).run, held(sealer, owner=stale.get("owner", "us")).run
    late = {"seqs": [2], "epoch": stale.get("epoch", row(taken).epoch)}
    result = change("a", "succeeded", result={"n": 1})
    batch = [changes(taken, result, **late), changes(ours, result, seqs=[2])]
    assert [type(one) for one in write(sealer, *batch)] == [RunFenced, type(None)]
    assert (task_row(taken)["status"], task_row(ours)["status"]) == ("pending", "succeeded")
    assert (seqs(taken), seqs(ours)) == ([1], [1, 2])
    assert [one.run_id for one in Payload.objects.filter(kind="result")] == [ours]


def test_a_batch_whose_commit_was_not_acknowledged_changes_nothing_twice(sealer):
    run = held(sealer).run
    batch = [changes(run, change("a", "succeeded", result={"n": 1}), seqs=[2])]
    write(sealer, *batch)
    before = row(run).changed_at
    assert write(sealer, *batch) == [None]
    assert (seqs(run), row(run).changed_at) == ([1, 2], before)


def test_a_rejected_entry_is_rolled_back_and_the_next_is_written(sealer):
    run = held(sealer).run
    rubbish = changes(run, change("a", "succeeded", attempts=2**40), seqs=[2])
    with pytest.raises(DataError):
        write(sealer, rubbish)
    assert seqs(run) == [1]
    assert write(sealer, changes(run, change(), seqs=[2])) == [None]
    assert task_row(run)["status"] == "running"


@pytest.mark.parametrize("is_judged", [False, True])
def test_many_rows_may_take_long(sealer, monkeypatch, is_judged):
    run, sizes = held(sealer).run, []
    monkeypatch.setattr(prepared, "can_limit_transactions", lambda: True)
    monkeypatch.setattr(fencing, "has_only_lease_checks", lambda _batch: not is_judged)
    monkeypatch.setattr(prepared, "format_time_limit", lambda size: sizes.append(size) or "9s")
    monkeypatch.setattr(prepared, "_SET_TIME_LIMIT", "SELECT %s::text")
    write(sealer, changes(run, change("a"), change("b"), seqs=[2]))
    with transaction.atomic():
        closing.end_runs([closing.seize_run(run, me="us")], code="internal_error")
    ends = 2 + 3  # tasks, and the events of those and of the run
    assert sizes == [3 * writing.ROW_BYTES, ends * writing.ROW_BYTES]
