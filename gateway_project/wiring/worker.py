"""A worker: the wiring of a gateway without clients, which runs what the queue holds."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import Final
from uuid import UUID

from execution import queue_worker
from gateway_project import wiring
from gateway_project.foundation.config import Config
from gateway_project.readiness import NotReady, Readiness

RETRY_S = 1.0
"""Whether the database is there is looked at so often; the log says what is missing."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


async def run(
    config: Config,
    *,
    concurrency: int,
    on_ready: Callable[[], None],
    on_end: Callable[[], None],
) -> None:
    """Run what the queue holds until SIGTERM or SIGINT; a second one ends the process at once.

    Ending, it fetches nothing more and starts no task; what is under way gets a moment to end,
    and what is not done by then goes back to the queue.

    Args:
        config: Of the installation.
        concurrency: Runs that it carries out at once.
        on_ready: Called when it begins to fetch.
        on_end: Called when it is told to end.

    Raises:
        NotReady: If the configuration cannot work; in a group.
    """
    readiness = Readiness()
    async with asyncio.TaskGroup() as group:
        wired = group.create_task(
            wiring.run(readiness, config=config, user=None, kind="command", works=concurrency),
            name="wiring",
        )
        fetching = group.create_task(
            _fetch(
                readiness, concurrency=concurrency, lease_s=config.run_lease_s, on_ready=on_ready
            ),
            name="queue",
        )
        await _told_to_end()
        on_end()
        fetching.cancel()
        await asyncio.wait([fetching])
        wired.cancel()


async def _fetch(
    readiness: Readiness, *, concurrency: int, lease_s: float, on_ready: Callable[[], None]
) -> None:
    async def take(run: UUID) -> bool:
        gateway = await readiness.gateway()
        return await gateway.effects.runs.take(run)

    while readiness.current is None:
        try:
            await readiness.gateway()
        except NotReady:
            await asyncio.sleep(RETRY_S)
    on_ready()
    await queue_worker.work(take, concurrency=concurrency, lease_s=lease_s)


async def _told_to_end() -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in _SIGNALS:
        loop.add_signal_handler(number, told.set)
    try:
        await told.wait()
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
