"""Periodic steps that survive errors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from execution.process.watchers import wait_for_signal
from execution.run_dependencies import RunsUnavailable
from gateway_project.foundation.reasons import summarize_error

log = structlog.get_logger(__name__)


async def repeat_every(
    period_s: float, step: Callable[[], Awaitable[None]], wanted: asyncio.Event | None = None
) -> None:
    """Run a step at once, and then periodically or when wanted.

    Args:
        period_s: Seconds between the end of a step and the next.
        step: The step; its exceptions are logged.
        wanted: Set to run the step early.
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
                log.warning(
                    "runs.database_unavailable", error=summarize_error(error.__cause__ or error)
                )
            is_away = True
        except Exception:
            # Top of a task: the next step may succeed.
            log.exception("runs.periodic_step_failed")
        await wait_for_signal(wake, wait_s=period_s)
