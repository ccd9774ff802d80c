"""Jobs of the queue: each names a run that a worker is to take.

Imported only where the queue is used. A job is a place in the line and a wake-up call, no more:
what is to be done stands in the run's own rows, so a job that is lost loses nothing.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache
from typing import Final
from uuid import UUID

import procrastinate
from django.db import OperationalError, connection
from procrastinate.contrib.django.django_connector import DjangoConnector
from procrastinate.exceptions import ConnectorException

from gateway_project.foundation.reasons import first_line

QUEUE: Final = "foregate_runs"
RUN: Final = "foregate.run"
"""Name of the task of each job that has a run run; its one argument is `run`."""

ALIVE_S: Final = 30
"""Seconds without a heartbeat after which procrastinate takes a worker for dead."""

_LOST = """
SELECT run.id FROM execution_workflowexecution AS run
 WHERE run.status = 'queued' AND run.owner = '' AND run.epoch = 0
   AND NOT EXISTS (
       SELECT FROM procrastinate_jobs AS job
         LEFT JOIN procrastinate_workers AS worker ON worker.id = job.worker_id
        WHERE job.task_name = %(task)s AND job.args ->> 'run' = run.id::text
          AND (job.status = 'todo'
               OR worker.last_heartbeat > now() - make_interval(secs => %(alive_s)s)))
 ORDER BY run.created_at
"""

_FORGET_ORPHANS = """
DELETE FROM procrastinate_jobs AS job
 WHERE job.task_name = %(task)s AND job.status = 'doing' AND job.worker_id IS NULL
   AND NOT EXISTS (
       SELECT FROM execution_workflowexecution AS run
        WHERE run.id::text = job.args ->> 'run'
          AND (run.ended_at IS NULL OR run.ended_at > now() - interval '1 hour'))
"""


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What was wrong with the jobs.

    Attributes:
        deferred: Runs that were put in line again.
        forgotten: Jobs that were deleted.
    """

    deferred: int
    forgotten: int


def defer(run: UUID) -> None:
    """Put a run in line for a worker; part of the current transaction.

    Raises:
        django.db.OperationalError: If the database refuses it or is away.
    """
    deferrer = _app().configure_task(RUN, queue=QUEUE, allow_unknown=True)
    try:
        deferrer.defer(run=str(run))
    except ConnectorException as error:
        raise OperationalError(first_line(error.__cause__ or error)) from error


def require() -> None:
    """Make sure that the queue has its tables.

    Raises:
        django.db.ProgrammingError: If the database lacks them.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM procrastinate_jobs LIMIT 0")


def sweep() -> Swept:
    """Put runs back in line that lost their job, and delete jobs that dead workers left.

    The latter an hour after their runs have ended: a worker that only stood still for long ends
    its jobs itself.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOST, {"task": RUN, "alive_s": ALIVE_S})
        lost = [run for (run,) in cursor.fetchall()]
        for run in lost:
            defer(run)
        cursor.execute(_FORGET_ORPHANS, {"task": RUN})
        return Swept(deferred=len(lost), forgotten=cursor.rowcount)


def hush() -> None:
    """Keep procrastinate from logging: what matters is logged here, in a line each."""
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)


@cache
def _app() -> procrastinate.App:
    hush()
    # Its statements run on Django's own connection, and so in Django's transaction.
    return procrastinate.App(connector=DjangoConnector())
