"""What a process does again and again for as long as it lives, whatever goes wrong at times."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from execution.process.watchers import awaited
from execution.run_means import RunsUnavailable
from gateway_project.foundation.reasons import first_line

log = structlog.get_logger(__name__)


async def every(
    period_s: float, step: Callable[[], Awaitable[None]], wanted: asyncio.Event | None = None
) -> None:
    """Take a step at once and then again and again; when it is wanted, or the time has come.

    Args:
        period_s: Seconds from the end of one step to the next.
        step: What is done; what it raises is logged.
        wanted: Set when it is wanted before.
    """
    wake = wanted or asyncio.Event()
    is_away = False
    while True:
        wake.clear()
        try:
            await step()
            is_away = False
        except RunsUnavailable as error:
            if not is_away:
                log.warning("runs.database_away", error=first_line(error.__cause__ or error))
            is_away = True
        except Exception:
            # The top of a task: what fails now may not the next time.
            log.exception("runs.step_failed")
        await awaited(wake, wait_s=period_s)
