"""Which tools have earned that results made ahead are served.

The first predictions that hit are compared with the call, which is made all the same. After
several agreements results are served, except for one in twenty, which is still compared; one
disagreement (a clock, a counter, anything random) ends it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import django.db
import structlog

from execution.agreement_counts import AgreementCounts, AgreementKey, ComparedResult
from gateway_project.foundation.reasons import summarize_error

if TYPE_CHECKING:
    from tools.catalogue import CatalogueTool

COMPARED_SHARE: Final = 0.05
"""Share of results that are compared although they could be served."""
DEBOUNCE_S: Final = 0.1
RETRY_S: Final = 5.0
REFRESH_S: Final = 60.0
"""Counts are read again after this long even without a notification."""
MAX_PENDING: Final = 1_000

log = structlog.get_logger(__name__)


LoadAgreements = Callable[[], Awaitable[Mapping[AgreementKey, AgreementCounts]]]
StoreCompared = Callable[[Sequence[ComparedResult]], Awaitable[None]]


class Agreements:
    """Counts of compared results in memory; reading them never waits. For one event loop.

    Until they are loaded nothing is served. What is recorded counts here at once, and in other
    processes once it is stored.

    Args:
        load: Loads all counts.
        store: Stores compared results.
        draw: Returns a random number in [0, 1).
    """

    def __init__(
        self,
        *,
        load: LoadAgreements,
        store: StoreCompared,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._load = load
        self._store = store
        self._draw = draw
        self._counts: dict[AgreementKey, AgreementCounts] = {}
        self._is_loaded = False
        self._pending: list[ComparedResult] = []
        self._stale = asyncio.Event()
        self._stale.set()

    def is_served(self, tool: CatalogueTool, team: int | None, age_s: float) -> bool:
        """Whether a result of this age is served now; otherwise it is compared."""
        counts = self._counts.get(_make_key(tool, team))
        if not self._is_loaded or counts is None or not counts.has_earned:
            return False
        return age_s <= counts.served_age_s and self._draw() >= COMPARED_SHARE

    def has_failed(self, tool: CatalogueTool, team: int | None) -> bool:
        """Whether a result was not that of the call made again, so that none will be served."""
        counts = self._counts.get(_make_key(tool, team))
        return counts is not None and counts.disagreed > 0

    def record(self, tool: CatalogueTool, team: int | None, *, agreed: bool, age_s: float) -> None:
        """Record whether a result was that of the same call made again."""
        key = _make_key(tool, team)
        counts = self._counts.get(key, AgreementCounts())
        self._counts[key] = counts.add(agreed=agreed, age_s=age_s)
        if not agreed:
            log.warning("speculation.disagreed", tool=tool.tool, age_s=round(age_s, 3))
        if len(self._pending) < MAX_PENDING or not agreed:
            self._pending.append(ComparedResult(key, agreed, age_s))
        self._stale.set()

    def invalidate(self) -> None:
        """Mark the counts as stale: another process may have compared results."""
        self._stale.set()

    async def run(self) -> None:
        """Store and load counts as they change, until cancelled; store once more then."""
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(REFRESH_S):
                        await self._stale.wait()
                await asyncio.sleep(DEBOUNCE_S if self._is_loaded else 0)
                self._stale.clear()
                try:
                    await self.exchange()
                except django.db.Error as error:
                    log.warning("speculation.agreements_not_stored", reason=summarize_error(error))
                    self._stale.set()
                    await asyncio.sleep(RETRY_S)
        finally:
            if self._pending:
                with suppress(django.db.Error, TimeoutError):
                    async with asyncio.timeout(2.0):
                        await self._flush()

    async def exchange(self) -> None:
        """Store what was recorded here, and load what all processes recorded.

        Raises:
            django.db.Error: If the database is unavailable; nothing is lost.
        """
        await self._flush()
        loaded = dict(await self._load())
        for one in self._pending:  # recorded meanwhile
            counts = loaded.get(one.key, AgreementCounts())
            loaded[one.key] = counts.add(agreed=one.agreed, age_s=one.age_s)
        self._counts, self._is_loaded = loaded, True

    async def _flush(self) -> None:
        compared, self._pending = self._pending, []
        if not compared:
            return
        try:
            await self._store(compared)
        except BaseException:
            self._pending = [*compared, *self._pending]
            raise


def _make_key(tool: CatalogueTool, team: int | None) -> AgreementKey:
    return AgreementKey(tool.pk, tool.definition_hash, tool.launch_hash, team)
