"""Jobs of the queue: each names a run that a worker is to take.

Imported only where the queue is used. A job is a place in the line and a wake-up call, no more:
what is to be done stands in the run's own rows, so a job that is lost loses nothing.
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

from execution.store.fencing import LONGEST_STILL
from gateway_project.foundation.reasons import first_line

QUEUE: Final = "foregate_runs"
RUN: Final = "foregate.run"
"""Name of the task of each job that has a run run; its one argument is `run`."""

AT_ONCE: Final = 1_000
"""Runs that one transaction puts back in line at most."""

# Let go of with the transaction, and so also by a process that stands still.
_ALONE = f"""
SELECT pg_try_advisory_xact_lock(hashtext('foregate queue'), hashtext('lost jobs')),
       set_config('idle_in_transaction_session_timeout', '{LONGEST_STILL}', true)
"""

# Runs and jobs are put side by side, not joined: without statistics, as of a table that has just
# grown, a join may look through all jobs for each run.
_LOST = """
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


def defer(run: UUID) -> None:
    """Put a run in line for a worker; part of the current transaction.

    Raises:
        django.db.OperationalError: If the database refuses it or is away.
    """
    _defer([run])


def _defer(runs: Sequence[UUID]) -> None:
    deferrer = _app().configure_task(RUN, queue=QUEUE, allow_unknown=True)
    given: list[JSONDict] = [{"run": str(run)} for run in runs]
    try:
        deferrer.batch_defer(*given)
    except ConnectorException as error:
        raise OperationalError(first_line(error.__cause__ or error)) from error


def require() -> None:
    """Make sure that the queue has its tables.

    Raises:
        django.db.ProgrammingError: If the database lacks them.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM procrastinate_jobs LIMIT 0")


def restore(*, alive_s: float) -> int:
    """Put runs back in line that lost their job, or whose job a dead worker has.

    Several processes may do so at once: one of them does, the others leave it to that one.

    Args:
        alive_s: Seconds without a heartbeat after which a worker counts as dead.

    Returns:
        How many were put back.

    Raises:
        django.db.Error: If the database is away.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ALONE)
        (is_alone, _) = cursor.fetchone()
        if not is_alone:
            return 0
        # Its snapshot is newer than the lock: it sees what others have put back.
        cursor.execute(_LOST, {"task": RUN, "alive_s": alive_s, "limit": AT_ONCE})
        lost = [UUID(run) for (run,) in cursor.fetchall()]
        if lost:
            _defer(lost)
        return len(lost)


def delete_orphans() -> int:
    """Delete jobs that dead workers left, an hour after their runs have ended; say how many.

    A worker that only stood still for long ends its jobs itself.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_ORPHANS, {"task": RUN})
        return int(cursor.rowcount)


def hush() -> None:
    """Keep procrastinate from logging: what matters is logged here, in a line each."""
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)


@cache
def _app() -> procrastinate.App:
    hush()
    # Its statements run on Django's own connection, and so in Django's transaction.
    return procrastinate.App(connector=DjangoConnector())
