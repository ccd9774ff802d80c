import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import DataError, connection, connections
from django.test.utils import CaptureQueriesContext

from execution.changes import CallNotApproved, RunChanges, RunEvent, RunFenced
from execution.models import Approval, ExecutionEvent, Payload, RunCommand, TaskRun
from execution.status import RunStatus, TaskStatus
from execution.store import commands, expiry, payloads, views
from execution.store.payloads import PayloadKind
from tests.execution.stored import (
    ADMIN,
    AT,
    CALL,
    EXPIRY_S,
    asked,
    change,
    changes,
    held,
    row,
    shift_clock,
    task_row,
    write,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db


def seqs(run):
    return [event.seq for event in views.load_events(run)]


def test_a_row_records_the_call_and_then_its_outcome(sealer):
    run = held(sealer).run
    write(sealer, changes(run, change(attempts=1, **CALL), seqs=[2], status=RunStatus.RUNNING))
    started = task_row(run)
    assert (started["status"], started["attempts"], started["started_at"]) == ("running", 1, AT)
    assert (started["definition_hash"], started["arguments_digest"]) == ("d" * 64, "e" * 64)
    assert row(run).started_at is not None
    done = change("a", "succeeded", result={"content": []}, duration_ms=2.5)
    write(sealer, changes(run, done, seqs=[3]))
    over = task_row(run)
    assert (over["status"], over["ended_at"], over["duration_ms"]) == ("succeeded", AT, 2.5)
    assert (over["started_at"], over["attempts"], over["definition_hash"]) == (AT, 1, "d" * 64)
    assert over["result_bytes"] == len('{"content":[]}')
    assert (row(run).last_seq, seqs(run)) == (3, [1, 2, 3])


def test_entries_of_one_run_in_one_batch_keep_their_order(sealer):
    run = held(sealer).run
    later = change("a", "succeeded", result={"n": 1})
    write(
        sealer,
        changes(run, change(attempts=1), seqs=[2]),
        changes(run, later, change("b", "running", attempts=1), seqs=[3, 4]),
    )
    stands = task_row(run)
    assert (stands["status"], stands["started_at"], stands["attempts"]) == ("succeeded", AT, 1)
    assert task_row(run, "b")["status"] == "running"
    assert seqs(run) == [1, 2, 3, 4]


def test_a_stale_epoch_is_fenced_while_the_rest_of_the_batch_is_written(sealer):
    ours, taken, gone = held(sealer).run, held(sealer).run, uuid4()
    batch = [
        changes(taken, change("a", "succeeded", result={"n": 1}), seqs=[2], epoch=0),
        changes(ours, change(), seqs=[2]),
        changes(gone, change(), seqs=[2]),
    ]
    refusals = write(sealer, *batch)
    assert [type(one) for one in refusals] == [RunFenced, type(None), RunFenced]
    assert (task_row(taken)["status"], task_row(ours)["status"]) == ("pending", "running")
    assert (seqs(taken), seqs(ours)) == ([1], [1, 2])
    assert not Payload.objects.filter(run=taken, kind="result").exists()


def test_a_released_run_accepts_no_more_writes(sealer):
    run = held(sealer, owner="").run
    assert isinstance(write(sealer, changes(run, change(), seqs=[2], epoch=0))[0], RunFenced)


def test_a_batch_whose_commit_was_not_acknowledged_changes_nothing_twice(sealer):
    run = held(sealer, ["a", "b", "c"]).run
    approval = asked(sealer, run)
    batch = [
        changes(run, change("a", approval=approval.pk, attempts=1, **CALL), seqs=[3]),
        changes(
            run,
            change("b", "waiting_approval", approval_reason="why", **CALL),
            seqs=[4, 5],
            workflow={"tasks": [{"id": task, "tool": f"s:{task}"} for task in "abd"]},
        ),
        changes(
            run, change("a", "succeeded", result={"n": 1}), seqs=[6], status=RunStatus.WAITING
        ),
    ]

    def everything():
        tables = (TaskRun, Approval, ExecutionEvent, Payload)
        kept = [list(table.objects.order_by("id").values()) for table in tables]
        stands = {**row(run).__dict__}
        return kept, {k: v for k, v in stands.items() if k not in ("_state", "changed_at")}

    first = write(sealer, *batch)
    before = everything()
    assert write(sealer, *batch) == first == [None, None, None]
    assert everything() == before
    assert row(run).version == 2


def test_a_refused_entry_is_refused_again_despite_later_events(sealer):
    run = held(sealer).run
    batch = [
        changes(run, change("a", approval=uuid4(), **CALL), seqs=[2]),
        changes(run, change("b"), seqs=[3]),
    ]
    for _ in range(2):
        refusals = write(sealer, *batch)
        assert [type(one) for one in refusals] == [CallNotApproved, type(None)]
    assert (task_row(run)["status"], seqs(run)) == ("pending", [1, 3])


def test_items_get_rows_of_their_own(sealer):
    run = held(sealer).run
    items = [change("b", "running", item=n, attempts=1) for n in range(3)]
    write(sealer, changes(run, *items, seqs=[2]))
    write(sealer, changes(run, change("b", "succeeded", item=1, result={"n": 1}), seqs=[3]))
    assert [task_row(run, "b", n)["status"] for n in range(-1, 3)] == [
        "pending", "running", "succeeded", "running",
    ]  # fmt: skip
    assert task_row(run, "b", 1)["tool"] == "s:b"
    assert task_row(run, "b", 1)["attempts"] == 1
    assert payloads.load_results(run, [("b", 1)], sealer=sealer) == {("b", 1): {"n": 1}}


def test_an_approval_is_stored_with_the_exact_arguments_and_expiry(sealer):
    run = held(sealer).run
    asking = change(
        "a", "waiting_approval", approval_reason="it deletes", arguments={"path": "/x"}, **CALL
    )
    write(sealer, changes(run, asking, seqs=[2], status=RunStatus.WAITING))
    (shown,) = views.load_view(run, caller=ADMIN, sealer=sealer).pending_approvals
    assert (shown.task, shown.tool, shown.reason) == ("a", "s:a", "it deletes")
    assert shown.arguments == {"path": "/x"}
    assert shown.expires_at - shown.created_at == timedelta(seconds=EXPIRY_S)


@pytest.mark.parametrize("status", ["pending", "rejected", "used", "expired", "withdrawn"])
def test_only_an_approved_approval_can_be_used(sealer, status):
    run = held(sealer).run
    approval = asked(sealer, run, status=status)
    start = change("a", approval=approval.pk, **CALL)
    assert isinstance(write(sealer, changes(run, start, seqs=[3]))[0], CallNotApproved)
    assert task_row(run)["status"] == "waiting_approval"


@pytest.mark.parametrize(
    ("task", "other"),
    [
        ("a", {"arguments_digest": "f" * 64}),
        ("a", {"definition_hash": "f" * 64}),
        ("a", {"item": 0}),
        ("b", {}),
    ],
)
def test_an_approval_serves_one_call(sealer, task, other):
    run = held(sealer).run
    approval = asked(sealer, run)
    start = change(task, approval=approval.pk, **{**CALL, **other})
    assert isinstance(write(sealer, changes(run, start, seqs=[3]))[0], CallNotApproved)


def test_an_approval_of_another_run_is_refused(sealer):
    approval = asked(sealer, held(sealer).run)
    run = held(sealer).run
    start = change("a", approval=approval.pk, **CALL)
    assert isinstance(write(sealer, changes(run, start, seqs=[2]))[0], CallNotApproved)


def test_an_approval_that_has_expired_is_refused(sealer):
    run = held(sealer).run
    approval = asked(sealer, run)
    Approval.objects.update(expires_at=AT - timedelta(days=999))
    start = change("a", approval=approval.pk, **CALL)
    assert isinstance(write(sealer, changes(run, start, seqs=[3]))[0], CallNotApproved)


def test_an_entry_with_a_failing_approval_consumes_no_other(sealer):
    run = held(sealer).run
    approval = asked(sealer, run)
    both = [change("a", approval=approval.pk, **CALL), change("b", approval=uuid4(), **CALL)]
    assert isinstance(write(sealer, changes(run, *both, seqs=[3]))[0], CallNotApproved)
    approval.refresh_from_db()
    assert approval.status == "approved"


def test_two_entries_of_a_batch_cannot_use_one_approval(sealer):
    run = held(sealer).run
    start = change("a", approval=asked(sealer, run).pk, **CALL)
    refusals = write(sealer, changes(run, start, seqs=[3]), changes(run, start, seqs=[4]))
    assert [type(one) for one in refusals] == [type(None), CallNotApproved]


@pytest.mark.django_db(transaction=True)
def test_one_of_two_concurrent_writers_consumes_the_approval(sealer):
    run = held(sealer).run
    approval = asked(sealer, run)
    ready = threading.Barrier(2)

    def use(seq):
        try:
            ready.wait(PATIENCE_S)
            start = change("a", approval=approval.pk, **CALL)
            return write(sealer, changes(run, start, seqs=[seq]))[0]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(use, [3, 4]))
    assert sorted(type(one).__name__ for one in outcomes) == ["CallNotApproved", "NoneType"]
    approval.refresh_from_db()
    assert (approval.status, approval.used_at is not None) == ("used", True)


def test_a_request_with_other_arguments_withdraws_the_first(sealer):
    run = held(sealer).run
    first = asked(sealer, run)
    other = {**CALL, "arguments_digest": "f" * 64}
    asking = change("a", "waiting_approval", approval_reason="it deletes", **other)
    write(sealer, changes(run, asking, seqs=[3]))
    first.refresh_from_db()
    assert first.status == "withdrawn"
    assert Approval.objects.get(status="pending").arguments_digest == "f" * 64


def test_a_repeated_request_keeps_the_decision(sealer):
    run = held(sealer).run
    first = asked(sealer, run)
    asking = change("a", "waiting_approval", approval_reason="it deletes", **CALL)
    write(sealer, changes(run, asking, seqs=[3]))
    assert Approval.objects.get().pk == first.pk


@pytest.mark.parametrize("status", ["cancelled", "skipped", "failed", "pending"])
def test_a_cancelled_call_withdraws_its_approval(sealer, status):
    run = held(sealer).run
    approval = asked(sealer, run, status="pending")
    write(sealer, changes(run, change("a", status), seqs=[3]))
    approval.refresh_from_db()
    assert approval.status == "withdrawn"


def test_the_end_of_a_run_withdraws_its_questions_and_closes_its_commands(sealer):
    run = held(sealer).run
    approval = asked(sealer, run, status="pending")
    told = commands.add_command(run, "pause", caller=ADMIN, sealer=sealer)
    end = changes(run, seqs=[3], status=RunStatus.FAILED, error_code="why", error="Because.")
    write(sealer, end)
    approval.refresh_from_db()
    shown = views.load_view(run, caller=ADMIN, sealer=sealer)
    assert (approval.status, commands.load_outcome(told)) == ("withdrawn", "run_over")
    assert (shown.status, shown.error_code, shown.error) == ("failed", "why", "Because.")
    assert shown.ended_at is not None


def test_commands_are_marked_applied_with_their_changes(sealer):
    run = held(sealer).run
    told = [commands.add_command(run, "pause", caller=ADMIN, sealer=sealer) for _ in range(2)]
    write(
        sealer,
        changes(run, seqs=[2], status=RunStatus.PAUSED, applied_commands=((told[0], "done"),)),
    )
    assert [one.id for one in commands.load_open_commands(run, sealer=sealer)] == [told[1]]
    assert commands.load_outcome(told[0]) == "done"
    assert RunCommand.objects.get(id=told[0]).applied_at is not None


def test_a_replan_adds_tasks_and_removes_unstarted_ones(sealer):
    run = held(sealer, ["a", "b", "c", "e"]).run
    done = change("a", "succeeded", attempts=1, result={"n": 1})
    stopped = change("e", "cancelled", attempts=1)
    write(sealer, changes(run, done, stopped, seqs=[2]))
    plan = {"tasks": [{"id": "d", "tool": "s:d"}, {"id": "b", "tool": "s:other"}]}
    write(sealer, changes(run, seqs=[3], workflow=plan))
    shown = views.load_view(run, caller=ADMIN, sealer=sealer)
    assert {(one.task, one.tool): one.status for one in shown.tasks} == {
        ("a", "s:a"): TaskStatus.SUCCEEDED,
        ("b", "s:other"): TaskStatus.PENDING,
        ("d", "s:d"): TaskStatus.PENDING,
        ("e", "s:e"): TaskStatus.CANCELLED,
    }
    assert (shown.version, shown.workflow, row(run).tasks_total) == (2, plan, 2)
    first = payloads.load_payload(run, PayloadKind.WORKFLOW, item=1, sealer=sealer)
    assert [task["id"] for task in first["tasks"]] == ["a", "b", "c", "e"]


NASTY = "x\x00\ud800\x1a0000\udfff'\"\\é\U0001f600"


def test_values_postgresql_cannot_store_round_trip(sealer):
    run = held(sealer, [NASTY, "b"], intent=NASTY).run
    event = RunEvent(seq=2, kind="task_failed", at=AT, task=NASTY, data={NASTY: [NASTY]})
    failed = change(NASTY, "failed", error_code=NASTY, error=NASTY, result={NASTY: NASTY})
    asking = change(
        "b", "waiting_approval", approval_reason=NASTY, arguments={NASTY: NASTY}, **CALL
    )
    entry = RunChanges(
        run=run, epoch=1, tasks=(failed, asking), events=(event,),
        status=RunStatus.WAITING, error_code=NASTY, error=NASTY,
    )  # fmt: skip
    assert write(sealer, entry) == [None]
    shown = views.load_view(run, caller=ADMIN, sealer=sealer)
    assert (shown.intent, shown.error, shown.tasks[0].task) == (NASTY, NASTY, NASTY)
    assert (shown.tasks[0].error, shown.tasks[0].result) == (NASTY, {NASTY: NASTY})
    assert (shown.approvals[0].reason, shown.approvals[0].arguments) == (NASTY, {NASTY: NASTY})
    told = views.load_events(run)[1]
    assert (told.task, told.data) == (NASTY, {NASTY: [NASTY]})


def test_codes_of_any_length_are_cut(sealer):
    run = held(sealer).run
    assert write(sealer, changes(run, change("a", "failed", error_code="x" * 999))) == [None]
    assert task_row(run)["error_code"] == "x" * 60


def test_a_result_of_32_megabytes_round_trips(sealer):
    run = held(sealer).run
    result = {"content": [{"type": "text", "text": "0123456789abcdef" * (2 * 1024 * 1024)}]}
    write(sealer, changes(run, change("a", "succeeded", result=result), seqs=[2]))
    assert payloads.load_results(run, [("a", -1)], sealer=sealer)["a", -1] == result
    with CaptureQueriesContext(connection) as asked_for:
        views.load_summaries(ADMIN)
    assert not any("content" in one["sql"] for one in asked_for.captured_queries)
    views.load_view(
        run, caller=ADMIN, sealer=None, results=False
    )  # nothing is there to open it with


def test_the_clock_of_this_machine_decides_nothing(sealer, monkeypatch):
    run = held(sealer).run
    late = change("a", "waiting_approval", approval_reason="why", **CALL)
    future = [RunEvent(seq=2, kind="task_started", at=AT + timedelta(days=9_999), task="a")]
    write(sealer, RunChanges(run=run, epoch=1, tasks=(late,), events=tuple(future)))
    created = row(run).created_at
    assert abs(row(run).changed_at - created) < timedelta(minutes=1)
    assert abs(Approval.objects.get().created_at - created) < timedelta(minutes=1)


def test_a_run_that_was_failed_by_a_sweep_is_not_written_any_more(sealer):
    run = held(sealer).run
    shift_clock(run, seconds=8 * 86_400)
    assert expiry.delete_expired(payload_days=7, run_days=90).failed == 1
    assert isinstance(write(sealer, changes(run, change(), seqs=[2]))[0], RunFenced)


def test_a_database_error_is_reported_and_rolls_the_batch_back(sealer):
    run = held(sealer).run
    rubbish = RunChanges(
        run=run, epoch=1, tasks=(change("b", "succeeded", attempts=2**40),),
        events=(RunEvent(seq=3, kind="task_succeeded", at=AT),),
    )  # fmt: skip
    with pytest.raises(DataError):
        write(sealer, changes(run, change(), seqs=[2]), rubbish)
    assert (task_row(run)["status"], seqs(run)) == ("pending", [1])
    assert write(sealer, changes(run, change(), seqs=[2])) == [None]
    assert task_row(run)["status"] == "running"
