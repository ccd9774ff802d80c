"""Counts calls of tools in memory, and adds them to the stored counts in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import structlog
from django.db import Error as DatabaseError

from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from graph.store import usage
from graph.store.usage import Count, Place

EVERY_S: Final = 1.0
RETRY_S: Final = 5.0
LAST_WRITE_S: Final = 2.0
"""How long a process that ends waits for the database to take its last counts."""

log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class _Sum(Mapping[int, int]):
    """What two mappings count of the same things, together; a view."""

    def __init__(self, one: Mapping[int, int], other: Mapping[int, int]) -> None:
        self._one, self._other = one, other

    def __getitem__(self, key: int) -> int:
        if key not in self._one and key not in self._other:
            raise KeyError(key)
        return self._one.get(key, 0) + self._other.get(key, 0)

    def __iter__(self) -> Iterator[int]:
        yield from self._one
        yield from (key for key in self._other if key not in self._one)

    def __len__(self) -> int:
        return len(self._one.keys() | self._other.keys())


class KeptUsage:
    """How often tools were called: what is stored, and what this process counted since.

    All methods are for one event loop. What other processes count is seen when this one next
    writes a count of the same tool and team, or reads anew.

    Args:
        clock: Tells when calls were made.
    """

    def __init__(self, *, clock: Callable[[], datetime] = _now) -> None:
        self._clock = clock
        self._pending: dict[Place, Count] = {}
        self._known: dict[int | None, dict[int, int]] = {None: {}}
        self._counted = asyncio.Event()
        self._writing: asyncio.Future[bool] | None = None
        self._is_loaded = False

    def count(self, tool: int, team: int | None, failed: bool) -> None:
        """Count a call.

        Args:
            tool: Primary key.
            team: Of the caller; None: a caller without a team.
            failed: Whether it went wrong.
        """
        calls, failures = self._pending.get((tool, team), (0, 0))
        self._pending[tool, team] = Count(calls + 1, failures + failed)
        known = self._known.setdefault(team, {})
        known[tool] = known.get(tool, 0) + 1
        self._counted.set()

    def of(self, team: int | None) -> Mapping[int, int]:
        """Return calls by tool: of callers without a team, and of the team's own."""
        shared = self._known[None]
        if team is None or team not in self._known:
            return shared
        return _Sum(self._known[team], shared)

    def stored(self, calls: Mapping[Place, int]) -> None:
        """Take note of what is stored by now of some tools and teams, whoever counted it."""
        for (tool, team), count in calls.items():
            since = self._pending.get((tool, team), Count(0, 0))
            self._known.setdefault(team, {})[tool] = count + since.calls

    async def load(self) -> bool:
        """Read what is stored; what cannot be read leaves the counts as they are, and says so."""
        try:
            stored = await in_database(usage.load)
        except DatabaseError as error:
            log.warning("usage.not_read", error=first_line(error))
            return False
        self._is_loaded = True
        known: dict[int | None, dict[int, int]] = {None: {}}
        for (tool, team), calls in stored.items():
            known.setdefault(team, {})[tool] = calls
        self._known = known
        for (tool, team), count in self._pending.items():
            self._raise(tool, team, count.calls)
        return True

    async def run(self) -> None:
        """Add what is counted to what is stored until cancelled, and once more then.

        While the database is away the counts wait in memory.
        """
        try:
            while True:
                await self._counted.wait()
                await asyncio.sleep(EVERY_S)
                if not await self.flush():
                    await asyncio.sleep(RETRY_S)
        finally:
            await self._flush_last()

    async def flush(self) -> bool:
        """Write what was counted since the last time; say whether the database took it."""
        self._counted.clear()
        if self._writing is None:
            if not self._pending:
                return True
            taken, self._pending = self._pending, {}
            self._writing = asyncio.ensure_future(self._write(taken))
        # Who is cancelled here leaves the write to the one that flushes next.
        writing = self._writing
        try:
            return await asyncio.shield(writing)
        finally:
            if writing.done():
                self._writing = None

    async def _write(self, taken: Mapping[Place, Count]) -> bool:
        try:
            stored = await in_database(usage.add, taken, at=self._clock())
        except DatabaseError as error:
            self._restore(taken)
            log.warning("usage.not_written", error=first_line(error))
            return False
        self.stored(stored)
        return self._is_loaded or await self.load()

    async def _flush_last(self) -> None:
        try:
            async with asyncio.timeout(LAST_WRITE_S):
                while await self.flush() and self._pending:
                    pass
        except TimeoutError:
            log.warning("usage.not_written", error="the database did not answer in time")

    def _restore(self, taken: Mapping[Place, Count]) -> None:
        for place, count in taken.items():
            self._pending[place] = count + self._pending.get(place, Count(0, 0))
        self._counted.set()

    def _raise(self, tool: int, team: int | None, calls: int) -> None:
        known = self._known.setdefault(team, {})
        known[tool] = known.get(tool, 0) + calls
