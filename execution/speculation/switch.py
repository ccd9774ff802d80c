"""The switch of all speculation, as a process reads it: off unless just confirmed to be on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import django.db
import structlog

from gateway_project.foundation.reasons import summarize_error

MAX_AGE_S: Final = 1.0
"""Age at which a confirmation no longer counts: all speculation stops within this time."""
POLL_S: Final = 0.3
"""Pause between confirmations: three may fail before speculation stops."""
IDLE_S: Final = 10.0
"""Time without a question after which the switch is no longer polled."""

LoadSwitch = Callable[[], Awaitable[bool]]
"""Reads the switch in the database."""
Clock = Callable[[], float]
"""Seconds of a monotonic clock."""

log = structlog.get_logger(__name__)


class SpeculationSwitch:
    """Answers whether anything may be speculated right now.

    Fails closed: without a confirmation by the database in the last `MAX_AGE_S`, it is off. So
    the first question after a pause is answered with no, and starts the polling.
    """

    def __init__(self, load: LoadSwitch, *, is_enabled: bool, clock: Clock) -> None:
        """Create a switch that is off until it is confirmed to be on.

        Args:
            load: Reads the switch in the database.
            is_enabled: Whether the installation's settings allow speculation at all.
            clock: The clock of the times that `is_on` is asked for.
        """
        self._load = load
        self._is_enabled = is_enabled
        self._clock = clock
        self._confirmed_at: float | None = None
        self._asked_at = 0.0
        self._asked = asyncio.Event()

    def is_on(self, now: float) -> bool:
        """Whether the switch was on at some moment of the last `MAX_AGE_S`."""
        if not self._is_enabled:
            return False
        self._asked_at = now
        self._asked.set()
        confirmed_at = self._confirmed_at
        return confirmed_at is not None and now - confirmed_at <= MAX_AGE_S

    async def run(self) -> None:
        """Confirm the switch again and again while somebody asks for it, until cancelled."""
        while True:
            await self._asked.wait()
            await self.confirm()
            await asyncio.sleep(POLL_S)
            if self._clock() - self._asked_at > IDLE_S:
                self._asked.clear()

    async def confirm(self) -> None:
        """Read the switch once; a failure leaves the last confirmation to expire."""
        asked_at = self._clock()  # before the query, since the row may change after it was read
        try:
            is_on = await self._load()
        except django.db.Error as error:
            log.warning("speculation.switch_unreadable", error=summarize_error(error))
            return
        self._confirmed_at = asked_at if is_on else None
