import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.db import connections, transaction

from execution.models import ExecutionEvent, Payload, WorkflowExecution
from execution.status import RunStatus
from execution.store import payloads, runs, views
from execution.store.payloads import PayloadKind
from execution.store.runs import IdempotencyConflict, TooManyRuns
from execution.workflow import OnError, RunOptions
from gateway_project.foundation.caller import Caller
from tests.execution.stored import ADMIN, changes, held, new, row, shift_clock, write
from tests.factories import TeamFactory
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db
DAY_S = 24 * 3_600.0


def test_a_new_run_is_stored_with_tasks_first_event_and_payloads(sealer):
    options = RunOptions(on_error=OnError.CONTINUE, per_layer_validation=True, deadline_s=60)
    made = held(sealer, ["a", "b"], intent="tidy up", options=options)
    shown = views.load_view(made.run, caller=ADMIN, sealer=sealer)
    assert (made.is_new, row(made.run).epoch, shown.last_seq) == (True, 1, 1)
    assert [(task.task, task.tool, task.position) for task in shown.tasks] == [
        ("a", "s:a", 0),
        ("b", "s:b", 1),
    ]
    assert [event.kind for event in views.load_events(made.run)] == ["run_queued"]
    assert (shown.intent, shown.workflow["tasks"][1]["id"]) == ("tidy up", "b")
    assert runs.options_from_json(row(made.run).options) == options
    assert (row(made.run).deadline_at - row(made.run).created_at).total_seconds() == 60


def test_an_unowned_run_has_no_lease(sealer):
    made = held(sealer, owner="")
    stored = row(made.run)
    assert (stored.epoch, stored.owner, stored.lease_until) == (0, "", None)


def test_the_same_request_with_the_same_key_finds_its_run(sealer):
    first = held(sealer, key="k")
    again = held(sealer, key="k")
    assert (again.run, again.is_new) == (first.run, False)
    assert ExecutionEvent.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        new(["a", "c"], key="k"),
        new(key="k", intent="another"),
        new(key="k", options=RunOptions(deadline_s=3)),
    ],
)
def test_another_request_with_the_same_key_is_refused(sealer, other):
    first = held(sealer, key="k")
    with pytest.raises(IdempotencyConflict, match=str(first.run)):
        runs.create_run(other, sealer=sealer)
    assert WorkflowExecution.objects.count() == 1


def test_an_idempotency_key_belongs_to_one_user_team_and_group(sealer):
    team = TeamFactory()
    others = [
        Caller(user="eve", team=None, person=None, scopes=frozenset(), kind="http"),
        Caller(user="admin", team=team.pk, person=None, scopes=frozenset(), kind="http"),
        Caller(
            user="admin", team=None, person=None, scopes=frozenset(), kind="http", group="desk"
        ),
        Caller(
            user="admin", team=None, person=None, scopes=frozenset(), kind="http", group="hall"
        ),
    ]
    made = {held(sealer, key="k").run, *(held(sealer, key="k", caller=one).run for one in others)}
    assert len(made) == 5


def test_a_key_names_its_run_for_a_day(sealer):
    first = held(sealer, key="k")
    shift_clock(first.run, seconds=DAY_S - 60)
    assert held(sealer, key="k").run == first.run
    shift_clock(first.run, seconds=61)
    second = held(sealer, ["other"], key="k")
    assert second.is_new
    assert row(first.run).idempotency_key == ""


def test_a_run_is_stored_completely_or_not_at_all(sealer):
    def fail(run):
        raise ValueError(run)

    with pytest.raises(ValueError, match="-"):
        runs.create_run(new(), sealer=sealer, also=fail)
    assert not WorkflowExecution.objects.exists()

    def add(run):
        payloads.insert_payloads(
            [payloads.seal_payload("more", run=run, kind=PayloadKind.REPLAN, sealer=sealer)]
        )

    for _ in range(2):
        made = runs.create_run(new(key="k"), sealer=sealer, also=add)
    kept = Payload.objects.filter(kind=PayloadKind.REPLAN)
    assert [one.run_id for one in kept] == [made.run]


@pytest.mark.django_db(transaction=True)
def test_fifty_concurrent_requests_with_one_key_create_one_run(sealer):
    ready = threading.Barrier(10)

    def ask(_turn):
        try:
            ready.wait(PATIENCE_S)
            return [runs.create_run(new(key="k"), sealer=sealer) for _ in range(5)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        made = [one for some in pool.map(ask, range(10)) for one in some]
    assert len(made) == 50
    assert len({one.run for one in made}) == 1
    assert sum(one.is_new for one in made) == 1
    assert WorkflowExecution.objects.count() == 1


def test_a_caller_with_too_many_open_runs_cannot_start_more(sealer, monkeypatch):
    monkeypatch.setattr(runs, "MAX_OPEN_RUNS", 2)
    first, _ = held(sealer, key="k").run, held(sealer).run
    for key in (None, "other"):
        with pytest.raises(TooManyRuns), transaction.atomic():
            held(sealer, key=key)
    assert held(sealer, key="k").run == first
    assert held(sealer, caller=replace(ADMIN, user="eve")).is_new
    assert held(sealer, caller=replace(ADMIN, team=TeamFactory().pk)).is_new
    assert WorkflowExecution.objects.count() == 4
    write(sealer, changes(first, seqs=[2], status=RunStatus.FAILED))
    assert held(sealer).is_new
