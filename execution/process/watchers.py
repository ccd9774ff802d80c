"""Wakes tasks that wait for changes of a run, and repeats steps; for one event loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog

from execution.run_dependencies import RunsUnavailable
from gateway_project.foundation.reasons import summarize_error

log = structlog.get_logger(__name__)


class RunWatchers:
    """The tasks that wait for changes of runs."""

    def __init__(self) -> None:
        self._waiting: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)

    @contextmanager
    def watch(self, run: UUID) -> Iterator[asyncio.Event]:
        """Yield a signal that is set on each change of a run; the waiting task clears it."""
        signal = asyncio.Event()
        self._waiting[run].add(signal)
        try:
            yield signal
        finally:
            self._waiting[run].discard(signal)
            if not self._waiting[run]:
                del self._waiting[run]

    def notify(self, run: UUID) -> None:
        """Signal a change of a run."""
        for signal in self._waiting.get(run, ()):
            signal.set()

    def notify_all(self) -> None:
        """Signal every run: notifications may have been lost."""
        for signals in self._waiting.values():
            for signal in signals:
                signal.set()


async def wait_for_signal(signal: asyncio.Event, *, wait_s: float) -> bool:
    """Wait for a signal and clear it; return whether it came in time."""
    try:
        async with asyncio.timeout(wait_s):
            await signal.wait()
    except TimeoutError:
        return False
    signal.clear()
    return True


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
