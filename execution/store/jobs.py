"""Queue jobs: each names a run for a worker to execute.

Imported only where the queue is used. A job is merely a queue position and a wake-up call: the
run's own rows say what to do, so a lost job loses nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from typing import Final
from uuid import UUID

import procrastinate
from django.db import OperationalError, connection, transaction
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.types import JSONDict

from execution.store.fencing import MAX_IDLE_TIME
from gateway_project.foundation.reasons import summarize_error

QUEUE: Final = "foregate_runs"
RUN_TASK: Final = "foregate.run"
"""Task name of the jobs; their one argument is `run`."""

MAX_RESTORED: Final = 1_000
"""Runs re-queued per transaction."""

# Released with the transaction, and thus also by a stalled process.
_TRY_LOCK = f"""
SELECT pg_try_advisory_xact_lock(hashtext('foregate queue'), hashtext('lost jobs')),
       set_config('idle_in_transaction_session_timeout', '{MAX_IDLE_TIME}', true)
"""

# Runs and jobs are combined by UNION, not joined: without statistics, as after rapid growth, a
# join may scan all jobs for each run.
_FIND_LOST_JOBS = """
SELECT run FROM (
    SELECT run.id::text AS run, run.created_at, false AS has_job
      FROM execution_workflowexecution AS run
     WHERE run.status = 'queued' AND run.owner = '' AND run.epoch = 0
    UNION ALL
    SELECT job.args ->> 'run', NULL, true
      FROM procrastinate_jobs AS job
      LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
     WHERE job.task_name = %(task)s
       AND (job.status = 'todo'
            OR worker.last_heartbeat > now() - make_interval(secs => %(alive_s)s))
) AS side
 GROUP BY run HAVING NOT bool_or(has_job) ORDER BY min(created_at) LIMIT %(limit)s
"""

_DELETE_ORPHANS = """
DELETE FROM procrastinate_jobs AS job
 WHERE job.task_name = %(task)s AND job.status = 'doing' AND job.worker_id IS NULL
   AND NOT EXISTS (
       SELECT FROM execution_workflowexecution AS run
        WHERE run.id = (job.args ->> 'run')::uuid
          AND (run.ended_at IS NULL OR run.ended_at > now() - interval '1 hour'))
"""


def enqueue_run(run: UUID) -> None:
    """Queue a run for a worker, in the current transaction.

    Raises:
        django.db.OperationalError: If the database rejects it or is unavailable.
    """
    _enqueue_runs([run])


def _enqueue_runs(runs: Sequence[UUID]) -> None:
    deferrer = _get_app().configure_task(RUN_TASK, queue=QUEUE, allow_unknown=True)
    given: list[JSONDict] = [{"run": str(run)} for run in runs]
    try:
        deferrer.batch_defer(*given)
    except ConnectorException as error:
        raise OperationalError(summarize_error(error.__cause__ or error)) from error


def require_queue_tables() -> None:
    """Require that the queue's tables exist.

    Raises:
        django.db.ProgrammingError: If they do not.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM procrastinate_jobs LIMIT 0")


def restore_lost_jobs(*, alive_s: float) -> int:
    """Re-queue runs whose job was lost or belongs to a dead worker.

    Of several processes that try at once, one does the work.

    Args:
        alive_s: Seconds without a heartbeat after which a worker counts as dead.

    Returns:
        Number of re-queued runs.

    Raises:
        django.db.Error: If the database is unavailable.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_TRY_LOCK)
        (is_alone, _) = cursor.fetchone()
        if not is_alone:
            return 0
        # This statement's snapshot is newer than the lock, so it sees what others re-queued.
        cursor.execute(
            _FIND_LOST_JOBS, {"task": RUN_TASK, "alive_s": alive_s, "limit": MAX_RESTORED}
        )
        lost = [UUID(run) for (run,) in cursor.fetchall()]
        if lost:
            _enqueue_runs(lost)
        return len(lost)


def delete_orphans() -> int:
    """Delete jobs of dead workers an hour after their runs ended; return the count.

    A worker that was merely stalled ends its jobs itself.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_ORPHANS, {"task": RUN_TASK})
        return int(cursor.rowcount)


def silence_procrastinate_log() -> None:
    """Disable procrastinate's logging; what matters is logged here."""
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)


@cache
def _get_app() -> procrastinate.App:
    silence_procrastinate_log()
    # Its statements run on Django's connection, and thus in Django's transaction.
    return procrastinate.App(connector=DjangoConnector())
