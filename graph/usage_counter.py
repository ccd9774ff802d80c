"""Counts tool calls in memory, and adds them to the stored counts in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import structlog
from django.db import Error as DatabaseError

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from graph.record import CallCount
from graph.store import usage
from graph.store.usage import UsageKey

FLUSH_INTERVAL_S: Final = 1.0
RETRY_S: Final = 5.0
FINAL_WRITE_TIMEOUT_S: Final = 2.0
"""Time that an exiting process allows for writing its last counts."""

log = structlog.get_logger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class _SummedCounts(Mapping[int, int]):
    """A view of the sums of two mappings of counts."""

    def __init__(self, first: Mapping[int, int], second: Mapping[int, int]) -> None:
        self._first, self._second = first, second

    def __getitem__(self, key: int) -> int:
        if key not in self._first and key not in self._second:
            raise KeyError(key)
        return self._first.get(key, 0) + self._second.get(key, 0)

    def __iter__(self) -> Iterator[int]:
        yield from self._first
        yield from (key for key in self._second if key not in self._first)

    def __len__(self) -> int:
        return len(self._first.keys() | self._second.keys())


class UsageCounter:
    """How often tools were called: the stored counts plus those of this process since.

    All methods are for one event loop. Counts of other processes become visible when this one
    next writes a count of the same tool and team, or reloads.
    """

    def __init__(self, *, clock: Callable[[], datetime] = _utc_now) -> None:
        self._clock = clock
        self._pending: dict[UsageKey, CallCount] = {}
        self._known: dict[int | None, dict[int, int]] = {None: {}}
        self._counted = asyncio.Event()
        self._writing: asyncio.Future[bool] | None = None
        self._is_loaded = False

    def count_call(self, tool: int, team: int | None, failed: bool) -> None:
        """Count a call."""
        calls, failures = self._pending.get((tool, team), (0, 0))
        self._pending[tool, team] = CallCount(calls + 1, failures + failed)
        known = self._known.setdefault(team, {})
        known[tool] = known.get(tool, 0) + 1
        self._counted.set()

    def usage_of_team(self, team: int | None) -> Mapping[int, int]:
        """Return calls by tool: those of callers without a team plus those of the team."""
        shared = self._known[None]
        if team is None or team not in self._known:
            return shared
        return _SummedCounts(self._known[team], shared)

    def apply_stored_counts(self, calls: Mapping[UsageKey, int]) -> None:
        """Apply stored totals of tools and teams, which include counts of other processes."""
        for (tool, team), count in calls.items():
            since = self._pending.get((tool, team), CallCount(0, 0))
            self._known.setdefault(team, {})[tool] = count + since.calls

    async def load(self) -> bool:
        """Load the stored counts; on a database error keep the old ones, log and return False."""
        try:
            stored = await run_in_database_thread(usage.load_usage)
        except DatabaseError as error:
            log.warning("usage.load_failed", error=summarize_error(error))
            return False
        self._is_loaded = True
        known: dict[int | None, dict[int, int]] = {None: {}}
        for (tool, team), calls in stored.items():
            known.setdefault(team, {})[tool] = calls
        self._known = known
        for (tool, team), count in self._pending.items():
            self._add_known_calls(tool, team, count.calls)
        return True

    async def run(self) -> None:
        """Add what is counted to what is stored until cancelled, and once more then.

        While the database is away the counts wait in memory.
        """
        try:
            while True:
                await self._counted.wait()
                await asyncio.sleep(FLUSH_INTERVAL_S)
                if not await self.flush():
                    await asyncio.sleep(RETRY_S)
        finally:
            await self._flush_before_exit()

    async def flush(self) -> bool:
        """Write the counts since the last flush; return whether that succeeded."""
        self._counted.clear()
        if self._writing is None:
            if not self._pending:
                return True
            counts, self._pending = self._pending, {}
            self._writing = asyncio.ensure_future(self._write_counts(counts))
        # If cancelled here, the next flush waits for this write.
        writing = self._writing
        try:
            return await asyncio.shield(writing)
        finally:
            if writing.done():
                self._writing = None

    async def _write_counts(self, counts: Mapping[UsageKey, CallCount]) -> bool:
        try:
            stored = await run_in_database_thread(usage.add_usage, counts, at=self._clock())
        except DatabaseError as error:
            self._restore_counts(counts)
            log.warning("usage.write_failed", error=summarize_error(error))
            return False
        self.apply_stored_counts(stored)
        return self._is_loaded or await self.load()

    async def _flush_before_exit(self) -> None:
        try:
            async with asyncio.timeout(FINAL_WRITE_TIMEOUT_S):
                while await self.flush() and self._pending:
                    pass
        except TimeoutError:
            log.warning("usage.write_failed", error="the database did not answer in time")

    def _restore_counts(self, counts: Mapping[UsageKey, CallCount]) -> None:
        for key, count in counts.items():
            self._pending[key] = count + self._pending.get(key, CallCount(0, 0))
        self._counted.set()

    def _add_known_calls(self, tool: int, team: int | None, calls: int) -> None:
        known = self._known.setdefault(team, {})
        known[tool] = known.get(tool, 0) + calls
