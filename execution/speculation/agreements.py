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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import django.db
import structlog

from gateway_project.foundation.reasons import summarize_error

if TYPE_CHECKING:
    from tools.catalogue import CatalogueTool

NEEDED: Final = 3
"""Agreements before a result is served."""
KEPT_AGES: Final = NEEDED
"""How often an age must have agreed: what is the same after two seconds need not be after a
minute."""
AGE_FACTOR: Final = 2.0
"""Factor by which a served result may be older than that, since no two pauses of a client are
alike."""
COMPARED_SHARE: Final = 0.05
"""Share of results that are compared although they could be served."""
DEBOUNCE_S: Final = 0.1
RETRY_S: Final = 5.0
REFRESH_S: Final = 60.0
"""Counts are read again after this long even without a notification."""
MAX_PENDING: Final = 1_000

log = structlog.get_logger(__name__)


class AgreementKey(NamedTuple):
    """What is counted together.

    Attributes:
        tool: Primary key.
        definition_hash: Of the definition that was called.
        launch_hash: Of the command or address of its server when that was approved.
        team: Primary key of the callers' team; None: callers without a team.
    """

    tool: int
    definition_hash: str
    launch_hash: str
    team: int | None


class AgreementCounts(NamedTuple):
    """How compared results turned out.

    Attributes:
        agreed: Results that were the same.
        disagreed: Results that were not.
        ages_s: The greatest ages of those that agreed, at most `KEPT_AGES`, in seconds.
    """

    agreed: int = 0
    disagreed: int = 0
    ages_s: tuple[float, ...] = ()

    @property
    def has_earned(self) -> bool:
        """Whether results may be served at all."""
        return self.agreed >= NEEDED and not self.disagreed

    @property
    def served_age_s(self) -> float:
        """Greatest age of a result that is served, in seconds."""
        return AGE_FACTOR * min(self.ages_s) if len(self.ages_s) >= KEPT_AGES else 0.0

    def add(self, *, agreed: bool, age_s: float) -> AgreementCounts:
        """Return the counts with one more result."""
        if not agreed:
            return self._replace(disagreed=self.disagreed + 1)
        ages = sorted((*self.ages_s, age_s), reverse=True)[:KEPT_AGES]
        return self._replace(agreed=self.agreed + 1, ages_s=tuple(ages))


@dataclass(frozen=True, slots=True)
class ComparedResult:
    """A result made ahead that was compared.

    Attributes:
        key: What it is counted for.
        agreed: Whether the call made again was answered alike.
        age_s: Age of the result when the call was requested, in seconds.
    """

    key: AgreementKey
    agreed: bool
    age_s: float


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
