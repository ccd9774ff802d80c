import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, ProgrammingError, connection, transaction

from execution.models import WorkflowExecution
from execution.store import jobs, runs
from tests.execution import queue_tables, stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def tables():
    with queue_tables.queue_tables():
        yield


def in_line():
    """Runs that a job waits for, oldest first."""
    return [uuid.UUID(json.loads(args)["run"]) for _, args in queue_tables.jobs()]


def run_row(**fields):
    now = datetime.now(UTC)
    return WorkflowExecution.objects.create(created_at=now, changed_at=now, **fields).pk


def fetched(run, *, heartbeat_s):
    """Have a run's job be fetched by a worker whose heart beat so long ago; None: it is gone."""
    with connection.cursor() as cursor:
        worker = None
        if heartbeat_s is not None:
            cursor.execute(
                "INSERT INTO procrastinate_workers (last_heartbeat) "
                "VALUES (now() - make_interval(secs => %s)) RETURNING id",
                [heartbeat_s],
            )
            worker = cursor.fetchone()[0]
        cursor.execute(
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s "
            "WHERE args ->> 'run' = %s",
            [worker, str(run)],
        )


@pytest.mark.usefixtures("tables")
def test_a_run_is_put_in_line_by_the_transaction_that_makes_it():
    kept = uuid.uuid4()
    with transaction.atomic():
        jobs.defer(kept)
    with transaction.atomic():
        jobs.defer(uuid.uuid4())
        transaction.set_rollback(True)
    assert in_line() == [kept]


def test_without_its_tables_the_queue_says_so():
    with pytest.raises(ProgrammingError, match="procrastinate_jobs"), transaction.atomic():
        jobs.require()
    with pytest.raises(OperationalError, match="procrastinate"), transaction.atomic():
        jobs.defer(uuid.uuid4())


@pytest.mark.usefixtures("tables")
def test_with_its_tables_the_queue_is_content():
    jobs.require()


@pytest.mark.usefixtures("tables")
def test_what_dead_workers_left_goes_once_its_run_has_been_over_for_a_while():
    now = datetime.now(UTC)
    over = run_row(status="succeeded", ended_at=now - timedelta(hours=2))
    ended = run_row(status="succeeded", ended_at=now)
    alive = run_row(status="running", owner="somebody", epoch=1)
    for run in (over, ended, alive):
        jobs.defer(run)
        fetched(run, heartbeat_s=None)
    assert jobs.sweep() == jobs.Swept(deferred=0, forgotten=1)
    assert in_line() == [ended, alive]


@pytest.mark.usefixtures("tables")
def test_a_run_that_lost_its_job_is_put_in_line_again_once():
    waiting, dying, working, lost = (run_row() for _ in range(4))
    for run in (waiting, dying, working):
        jobs.defer(run)
    fetched(dying, heartbeat_s=60)
    fetched(working, heartbeat_s=5)
    run_row(status="running", owner="somebody", epoch=1)
    run_row(epoch=1)
    assert jobs.sweep() == jobs.Swept(deferred=2, forgotten=0)
    assert in_line() == [waiting, dying, working, dying, lost]
    assert jobs.sweep() == jobs.Swept(deferred=0, forgotten=0)


@pytest.mark.usefixtures("tables")
def test_a_run_with_a_key_or_without_is_made_together_with_its_job(sealer):
    made = [
        runs.create(stored.new(owner="", key=key), sealer=sealer, also=jobs.defer)
        for key in (None, "key")
    ]
    assert in_line() == [one.run for one in made]
