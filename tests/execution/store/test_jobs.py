import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, ProgrammingError, connection, connections, transaction

from execution.models import WorkflowExecution
from execution.store import fencing, jobs, runs
from tests.execution import queue_tables, stored
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db
WORKERS = 4
ALIVE_S = 10 * PATIENCE_S


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
def test_a_run_is_queued_by_the_transaction_that_creates_it():
    kept = uuid.uuid4()
    with transaction.atomic():
        jobs.enqueue_run(kept)
    with transaction.atomic():
        jobs.enqueue_run(uuid.uuid4())
        transaction.set_rollback(True)
    assert in_line() == [kept]


def test_a_queue_without_tables_reports_it():
    with pytest.raises(ProgrammingError, match="procrastinate_jobs"), transaction.atomic():
        jobs.require_queue_tables()
    with pytest.raises(OperationalError, match="procrastinate"), transaction.atomic():
        jobs.enqueue_run(uuid.uuid4())


@pytest.mark.usefixtures("tables")
def test_with_its_tables_the_queue_is_content():
    jobs.require_queue_tables()


@pytest.mark.usefixtures("tables")
def test_jobs_of_dead_workers_are_deleted_after_their_run_ended():
    now = datetime.now(UTC)
    over = run_row(status="succeeded", ended_at=now - timedelta(hours=2))
    ended = run_row(status="succeeded", ended_at=now)
    alive = run_row(status="running", owner="somebody", epoch=1)
    for run in (over, ended, alive):
        jobs.enqueue_run(run)
        fetched(run, heartbeat_s=None)
    assert jobs.delete_orphans() == 1
    assert in_line() == [ended, alive]


@pytest.mark.usefixtures("tables")
def test_a_run_without_its_job_is_queued_again_once():
    waiting, dying, working, lost = (run_row() for _ in range(4))
    for run in (waiting, dying, working):
        jobs.enqueue_run(run)
    fetched(dying, heartbeat_s=ALIVE_S + 1)
    fetched(working, heartbeat_s=5)
    run_row(status="running", owner="somebody", epoch=1)
    run_row(epoch=1)
    assert jobs.restore_lost_jobs(alive_s=ALIVE_S) == 2
    assert in_line() == [waiting, dying, working, dying, lost]
    assert jobs.restore_lost_jobs(alive_s=ALIVE_S) == 0


@pytest.mark.usefixtures("tables")
def test_lost_jobs_beyond_one_transaction_are_queued_by_the_next(monkeypatch):
    monkeypatch.setattr(jobs, "MAX_RESTORED", 2)
    lost = [run_row() for _ in range(3)]
    assert [jobs.restore_lost_jobs(alive_s=ALIVE_S) for _ in range(3)] == [2, 1, 0]
    assert in_line() == lost


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("tables")
def test_concurrent_searches_queue_each_lost_run_once():
    lost = {run_row() for _ in range(20)}
    ready = threading.Barrier(WORKERS)

    def restored(_):
        try:
            ready.wait(PATIENCE_S)
            return jobs.restore_lost_jobs(alive_s=ALIVE_S)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(WORKERS) as pool:
        assert sum(pool.map(restored, range(WORKERS))) == len(lost)
    assert sorted(in_line()) == sorted(lost)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("tables")
def test_a_stalled_search_for_lost_jobs_blocks_no_other():
    lost = run_row()

    def restored():
        try:
            return jobs.restore_lost_jobs(alive_s=ALIVE_S)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        assert jobs.restore_lost_jobs(alive_s=ALIVE_S) == 1
        with connection.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            assert cursor.fetchone() == (fencing.MAX_IDLE_TIME,)
            # It stands still for as long as the other one takes.
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        assert pool.submit(restored).result(PATIENCE_S) == 0
    assert in_line() == [lost]


@pytest.mark.usefixtures("tables")
def test_a_run_and_its_job_are_created_together(sealer):
    made = [
        runs.create_run(stored.new(owner="", key=key), sealer=sealer, also=jobs.enqueue_run)
        for key in (None, "key")
    ]
    assert in_line() == [one.run for one in made]
