"""A worker process: a gateway without clients that executes runs from the queue."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Final
from uuid import UUID

from execution import queue_worker
from gateway_project import wiring
from gateway_project.foundation import stop_guard
from gateway_project.foundation.config import Config
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.readiness import NotReady, Readiness

DATABASE_RETRY_S = 1.0
"""Wait before checking again whether the gateway is ready."""
CANCEL_AGAIN_S = 2.0
"""Wait before a task that ignored its cancellation is cancelled once more."""
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


async def run_worker(
    config: Config,
    *,
    concurrency: int,
    on_ready: Callable[[], None],
    on_end: Callable[[], None],
) -> None:
    """Execute queued runs until SIGTERM or SIGINT; a second signal ends the process at once.

    On shutdown it fetches no more runs and starts no tasks; running calls get a moment to end,
    and unfinished runs go back to the queue.

    Args:
        config: Of the installation.
        concurrency: Runs executed concurrently.
        on_ready: Called when it begins to fetch.
        on_end: Called when it receives the first signal.

    Raises:
        NotReady: If the configuration cannot work.
    """
    readiness = Readiness()
    async with TaskGroup() as group:
        wired = group.create_task(
            wiring.run_gateway(
                readiness, config=config, user=None, kind="command", works=concurrency
            ),
            name="wiring",
        )
        fetching = group.create_task(
            _process_queue(
                readiness, concurrency=concurrency, lease_s=config.run_lease_s, on_ready=on_ready
            ),
            name="queue",
        )
        await _wait_for_stop_signal()
        on_end()
        await _cancel(fetching)
        wired.cancel()


async def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end.

    `asyncio.wait_for` of Python 3.11 loses a cancellation that arrives together with its result;
    the connection pool that procrastinate starts with waits by it.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_AGAIN_S)


async def _process_queue(
    readiness: Readiness, *, concurrency: int, lease_s: float, on_ready: Callable[[], None]
) -> None:
    async def claim_run(run: UUID) -> bool:
        gateway = await readiness.wait_for_gateway()
        return await gateway.effects.runs.claim_and_execute(run)

    while readiness.current is None:
        try:
            await readiness.wait_for_gateway()
        except NotReady:
            await asyncio.sleep(DATABASE_RETRY_S)
    on_ready()
    await queue_worker.run_worker(claim_run, concurrency=concurrency, lease_s=lease_s)


async def _wait_for_stop_signal() -> None:
    loop = asyncio.get_running_loop()
    stop_requested = asyncio.Event()
    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, stop_requested.set)
    stop_guard.watch_signals()
    try:
        await stop_requested.wait()
    finally:
        for number in _STOP_SIGNALS:
            loop.remove_signal_handler(number)
