"""The queue worker: fetches runs from the queue and has them executed.

Imported only by workers.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final
from uuid import UUID

import django.db
import procrastinate
import psycopg
import structlog
from procrastinate.exceptions import ConnectorException
from procrastinate.psycopg_connector import PsycopgConnector

from execution.process.background import RENEWALS_PER_LEASE
from execution.process.watchers import repeat_every
from execution.run_dependencies import run_in_database
from execution.store import jobs
from gateway_project.foundation import notify
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.task_group import TaskGroup

FIRST_RETRY_S = 0.2
LONGEST_RETRY_S = 5.0
POLL_S = 5.0
"""Maximum wait of a job whose notification was lost; procrastinate's default."""
MAX_CONNECTIONS = 2
"""Database connections; each statement takes a millisecond, and listening needs its own."""
CLEANUP_TASK: Final = "foregate.tidy"
CLEANUP_CRON: Final = "* * * * *"
"""Every minute, by one worker. Also keeps procrastinate watching its heartbeat and listener: it
stops watching when one of its side tasks ends, as its clock does if nothing is periodic."""

ExecuteRun = Callable[[UUID], Awaitable[bool]]
"""Executes a run until it is at rest; returns whether it could be claimed. Cancelling it leaves
the run executing."""

log = structlog.get_logger(__name__)


async def run_worker(execute_run: ExecuteRun, *, concurrency: int, lease_s: float) -> None:
    """Fetch jobs and execute their runs, until cancelled.

    While the database is unavailable no jobs are fetched, and current runs continue. Shutdown does
    not wait for runs: their owner releases them.

    Args:
        execute_run: Executes a run.
        concurrency: Maximum concurrent jobs, at least 1.
        lease_s: Seconds without a heartbeat after which a worker counts as dead, as for runs.
    """
    jobs.silence_procrastinate_log()
    async with TaskGroup() as group:
        # Not a job, which would wait for a free slot.
        restoring = repeat_every(lease_s / RENEWALS_PER_LEASE, partial(_restore_jobs, lease_s))
        group.create_task(restoring, name="lost jobs")
        await _fetch_with_reconnects(execute_run, concurrency=concurrency, lease_s=lease_s)


async def _restore_jobs(alive_s: float) -> None:
    if restored := await run_in_database(jobs.restore_lost_jobs, alive_s=alive_s):
        log.warning("queue.jobs_restored", runs=restored)


async def _fetch_with_reconnects(
    execute_run: ExecuteRun, *, concurrency: int, lease_s: float
) -> None:
    clock = asyncio.get_running_loop().time
    retry_s = FIRST_RETRY_S
    while True:
        started_at, reason = clock(), "its listener, heartbeat or clock broke off"
        try:
            await _fetch_jobs(execute_run, concurrency=concurrency, lease_s=lease_s)
        except (ConnectorException, django.db.Error, OSError) as error:
            reason = summarize_error(error.__cause__ or error)
        if _is_cancelled():
            raise asyncio.CancelledError
        if clock() - started_at > LONGEST_RETRY_S:
            retry_s = FIRST_RETRY_S
        log.warning("queue.disconnected", reason=reason, retry_s=retry_s)
        await asyncio.sleep(retry_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)


def _is_cancelled() -> bool:
    """Whether this task was cancelled; a simultaneous error may have hidden it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _fetch_jobs(execute_run: ExecuteRun, *, concurrency: int, lease_s: float) -> None:
    """Fetch jobs until the connection breaks.

    Raises:
        ConnectorException: If it breaks or cannot be opened.
    """
    parameters = await run_in_database_thread(notify.get_connection_parameters)
    app = _make_app(execute_run, parameters=dict(parameters))
    try:
        await app.open_async()
        await app.run_worker_async(
            queues=[jobs.QUEUE],
            concurrency=concurrency,
            fetch_job_polling_interval=POLL_S,
            shutdown_graceful_timeout=0,
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=lease_s / RENEWALS_PER_LEASE,
            stalled_worker_timeout=lease_s,
        )
    finally:
        # Also if cancelled while it opened: the tasks of its pool would keep the process alive.
        await app.close_async()


def _make_app(execute_run: ExecuteRun, *, parameters: dict[str, Any]) -> procrastinate.App:
    app = procrastinate.App(
        connector=PsycopgConnector(
            kwargs=parameters, configure=_set_autocommit, min_size=1, max_size=MAX_CONNECTIONS
        )
    )

    @app.task(name=jobs.RUN_TASK, queue=jobs.QUEUE)
    async def run(run: str) -> None:
        try:
            was_claimed = await execute_run(UUID(run))
        except Exception:  # top of a job; the run can still be claimed by others
            log.exception("queue.job_failed", run=run)
        else:
            log.info("queue.job_done" if was_claimed else "queue.run_not_claimed", run=run)

    @app.periodic(cron=CLEANUP_CRON)
    @app.task(name=CLEANUP_TASK, queue=jobs.QUEUE, queueing_lock=CLEANUP_TASK)
    async def tidy(timestamp: int) -> None:  # noqa: ARG001 - of whoever asks, by procrastinate
        if deleted := await run_in_database_thread(jobs.delete_orphans):
            log.info("queue.orphans_deleted", jobs=deleted)

    return app


async def _set_autocommit(connection: psycopg.AsyncConnection[Any]) -> None:
    """Set autocommit, lest a stalled worker keep jobs locked."""
    await connection.set_autocommit(True)
