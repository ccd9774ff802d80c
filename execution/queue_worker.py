"""Fetches runs from the queue and has them run, for as long as a worker lives.

Imported by workers alone.
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

from execution.process.background import RENEWALS
from execution.process.periodic import every
from execution.run_means import reached
from execution.store import jobs
from gateway_project.foundation import notify
from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line

FIRST_RETRY_S = 0.2
LONGEST_RETRY_S = 5.0
POLL_S = 5.0
"""A job whose notification was lost waits so long at most; as long as procrastinate's default."""
MAX_CONNECTIONS = 2
"""Of the queue: each of its statements takes a millisecond, and listening has one of its own."""
TIDY: Final = "foregate.tidy"
TIDIED_AT: Final = "* * * * *"
"""Every minute, by one worker of all. Also what makes procrastinate watch its heartbeat and its
listener: it stops watching as soon as one of its side tasks ends, as its clock does at once where
nothing is periodic."""

Take = Callable[[UUID], Awaitable[bool]]
"""Has a run run until it is at rest; says whether it was there to be taken. Cancelling it leaves
the run to run on."""

log = structlog.get_logger(__name__)


async def work(take: Take, *, concurrency: int, lease_s: float) -> None:
    """Fetch jobs and have their runs run, until cancelled.

    While the database is away nothing is fetched, and what runs goes on. Stopping waits for no
    run: whoever owns the runs lets go of them.

    Args:
        take: Has a run run.
        concurrency: Jobs at once, at least 1.
        lease_s: Seconds without a heartbeat after which a worker counts as dead, as for a run.
    """
    jobs.hush()
    async with asyncio.TaskGroup() as group:
        # Not by a job: that would wait for a place among those that are all taken.
        restoring = every(lease_s / RENEWALS, partial(_restore, lease_s))
        group.create_task(restoring, name="lost jobs")
        await _fetch_always(take, concurrency=concurrency, lease_s=lease_s)


async def _restore(alive_s: float) -> None:
    if restored := await reached(jobs.restore, alive_s=alive_s):
        log.warning("queue.restored", runs=restored)


async def _fetch_always(take: Take, *, concurrency: int, lease_s: float) -> None:
    clock = asyncio.get_running_loop().time
    retry_s = FIRST_RETRY_S
    while True:
        began, reason = clock(), "its listener, heartbeat or clock broke off"
        try:
            await _fetch(take, concurrency=concurrency, lease_s=lease_s)
        except (ConnectorException, django.db.Error, OSError) as error:
            reason = first_line(error.__cause__ or error)
        if _is_cancelled():
            raise asyncio.CancelledError
        if clock() - began > LONGEST_RETRY_S:
            retry_s = FIRST_RETRY_S
        log.warning("queue.disconnected", reason=reason, retry_s=retry_s)
        await asyncio.sleep(retry_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)


def _is_cancelled() -> bool:
    """Whether this task was cancelled; what breaks off at that moment may have hidden it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _fetch(take: Take, *, concurrency: int, lease_s: float) -> None:
    """Fetch jobs until the connection breaks.

    Raises:
        ConnectorException: If it broke, or there was none.
    """
    parameters = await in_database(notify.connection_parameters)
    app = _app(take, parameters=dict(parameters))
    async with app.open_async():
        await app.run_worker_async(
            queues=[jobs.QUEUE],
            concurrency=concurrency,
            fetch_job_polling_interval=POLL_S,
            shutdown_graceful_timeout=0,
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=lease_s / RENEWALS,
            stalled_worker_timeout=lease_s,
        )


def _app(take: Take, *, parameters: dict[str, Any]) -> procrastinate.App:
    app = procrastinate.App(
        connector=PsycopgConnector(
            kwargs=parameters, configure=_commit_each, min_size=1, max_size=MAX_CONNECTIONS
        )
    )

    @app.task(name=jobs.RUN, queue=jobs.QUEUE)
    async def run(run: str) -> None:
        try:
            taken = await take(UUID(run))
        except Exception:  # the top of a job; the run itself stays for others to take
            log.exception("queue.failed", run=run)
        else:
            log.info("queue.done" if taken else "queue.not_taken", run=run)

    @app.periodic(cron=TIDIED_AT)
    @app.task(name=TIDY, queue=jobs.QUEUE, queueing_lock=TIDY)
    async def tidy(timestamp: int) -> None:  # noqa: ARG001 - of whoever asks, by procrastinate
        if deleted := await in_database(jobs.delete_orphans):
            log.info("queue.tidied", jobs=deleted)

    return app


async def _commit_each(connection: psycopg.AsyncConnection[Any]) -> None:
    """Have the server commit each statement, lest a worker that stands still keeps jobs locked."""
    await connection.set_autocommit(True)
