"""Fetches runs from the queue and has them run, for as long as a worker lives.

Imported by workers alone.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

import django.db
import procrastinate
import structlog
from procrastinate.exceptions import ConnectorException
from procrastinate.psycopg_connector import PsycopgConnector

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
SWEEP: Final = "foregate.sweep"
SWEPT_AT: Final = "* * * * *"
"""Every minute, by one worker of all. Also what makes procrastinate watch its heartbeat and its
listener: it stops watching as soon as one of its side tasks ends, as its clock does at once where
nothing is periodic."""

Take = Callable[[UUID], Awaitable[bool]]
"""Has a run run until it is at rest; says whether it was there to be taken. Cancelling it leaves
the run to run on."""

log = structlog.get_logger(__name__)


async def work(take: Take, *, concurrency: int) -> None:
    """Fetch jobs and have their runs run, until cancelled.

    While the database is away nothing is fetched, and what runs goes on. Stopping waits for no
    run: whoever owns the runs lets go of them.

    Args:
        take: Has a run run.
        concurrency: Jobs at once, at least 1.
    """
    jobs.hush()
    clock = asyncio.get_running_loop().time
    retry_s = FIRST_RETRY_S
    while True:
        began, reason = clock(), "its listener, heartbeat or clock broke off"
        try:
            await _fetch(take, concurrency=concurrency)
        except (ConnectorException, django.db.Error, OSError) as error:
            reason = first_line(error.__cause__ or error)
        if clock() - began > LONGEST_RETRY_S:
            retry_s = FIRST_RETRY_S
        log.warning("queue.disconnected", reason=reason, retry_s=retry_s)
        await asyncio.sleep(retry_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        retry_s = min(2 * retry_s, LONGEST_RETRY_S)


async def _fetch(take: Take, *, concurrency: int) -> None:
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
        )


def _app(take: Take, *, parameters: dict[str, Any]) -> procrastinate.App:
    app = procrastinate.App(
        connector=PsycopgConnector(kwargs=parameters, min_size=1, max_size=MAX_CONNECTIONS)
    )

    @app.task(name=jobs.RUN, queue=jobs.QUEUE)
    async def run(run: str) -> None:
        try:
            taken = await take(UUID(run))
        except Exception:  # the top of a job; the run itself stays for others to take
            log.exception("queue.failed", run=run)
        else:
            log.info("queue.done" if taken else "queue.not_there", run=run)

    @app.periodic(cron=SWEPT_AT)
    @app.task(name=SWEEP, queue=jobs.QUEUE, queueing_lock=SWEEP)
    async def sweep(timestamp: int) -> None:  # noqa: ARG001 - of whoever asks, by procrastinate
        swept = await in_database(jobs.sweep)
        if swept.deferred or swept.forgotten:
            log.warning("queue.swept", deferred=swept.deferred, forgotten=swept.forgotten)

    return app
