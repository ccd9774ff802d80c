"""Learns from ended runs beside everything else a process does, and never in its way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import django.db
import structlog

from gateway_project.foundation.database import in_database, is_away
from gateway_project.foundation.reasons import first_line
from gateway_project.foundation.sealing import Sealer
from learning.learned import Learned, Means
from tools.embed.embedder import Embedder, EmbeddingUnavailable

FIRST_LOOK_S: Final = 1.0
"""A gateway that has just started has better things to do."""
LOOK_S: Final = 60.0
"""How often runs are looked for that nobody learned from."""
SETTLED_S: Final = 30.0
"""Whoever ended a run comes first."""
AT_ONCE: Final = 100
MAX_WAITING: Final = 1_000
"""Runs told of that wait; of more, the rest is found by looking."""
DELAY_S: Final = 1.0
"""Whoever waits for a run that has just ended comes first."""
REST: Final = 4.0
"""After each run comes a rest of so many times as long as it took."""
RETRY_S: Final = 5.0
ATTEMPTS: Final = 3
"""A run that cannot be learned from is passed over after so many."""
MAX_EMBEDDED: Final = 64
"""Intents that wait for their vectors and are embedded in one go."""

log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


class Learner:
    """Takes over what ended runs teach, one at a time, with a rest after each.

    For one event loop; the work is done on a database thread. Several processes may do so at once.

    Args:
        means: What to learn with, right now.
        on_learned: Told what each run taught.
        clock: Tells the time.
    """

    def __init__(
        self,
        means: Callable[[], Means],
        *,
        on_learned: Callable[[Learned], None] = lambda _learned: None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._means = means
        self._on_learned = on_learned
        self._clock = clock
        self._waiting: dict[UUID, None] = {}
        self._told = asyncio.Event()
        self._failures: dict[UUID, int] = {}
        self._interrupted: set[UUID] = set()
        self._may_lack_vectors = True

    async def learned(self, run: UUID) -> None:
        """Have a run learned from that has ended; returns at once and never raises."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting[run] = None
            self._told.set()

    async def run(self) -> None:
        """Learn until cancelled: from runs told of, and from those that nobody learned from."""
        settled_s = 0.0
        clock = asyncio.get_running_loop().time
        look_at = clock() + FIRST_LOOK_S
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(look_at):
                    await self._told.wait()
            await asyncio.sleep(DELAY_S)
            try:
                if clock() >= look_at:
                    is_more = await self.look(settled_s=settled_s)
                    settled_s, look_at = SETTLED_S, clock() + (0.0 if is_more else LOOK_S)
                await self.drain()
            except django.db.Error as error:
                log.warning("learning.interrupted", reason=first_line(error))
                await asyncio.sleep(RETRY_S)
            except Exception:  # whatever it is, runs go on
                log.exception("learning.failed")
                await asyncio.sleep(LOOK_S)

    async def look(self, *, settled_s: float) -> bool:
        """Find runs that nobody learned from; say whether there may be more of them.

        Args:
            settled_s: Only such as ended so many seconds ago.

        Raises:
            django.db.Error: If the database is away.
        """
        found = await in_database(_unlearned, settled_s)
        random.shuffle(found)  # so that several processes seldom take the same one
        self._waiting |= dict.fromkeys(found)
        if self._may_lack_vectors:
            await self._embed()
        return len(found) == AT_ONCE

    async def drain(self) -> None:
        """Learn from all runs that wait.

        Raises:
            django.db.Error: If the database is away; those left go on waiting.
        """
        clock = asyncio.get_running_loop().time
        self._told.clear()
        while self._waiting:
            run = next(iter(self._waiting))
            started = clock()
            await self._learn(run)
            await asyncio.sleep(REST * (clock() - started))

    async def _learn(self, run: UUID) -> None:
        """Learn from a run, which waits no more then.

        Raises:
            django.db.Error: If the database is away; the run waits on, behind all others.
        """
        self._waiting.pop(run, None)
        try:
            learned = await in_database(_learn, run, self._means(), self._clock())
        except Exception as error:
            if isinstance(error, django.db.Error) and is_away(error):
                self._waiting[run] = None
                self._interrupted.add(run)
                self._told.set()
                raise
            log.exception("run.not_learned", run=str(run))
            await self._failed(run)
            return
        self._failures.pop(run, None)
        if learned is not None:
            self._may_lack_vectors |= learned.unembedded
            log.info("run.learned", run=str(run), **learned.figures)
            self._on_learned(learned)
        await self._suspect(but=run)

    async def _suspect(self, *, but: UUID) -> None:
        """Count a failure of each run that was interrupted, since another has gone through.

        So a run for whose sake the database ends each connection is passed over in the end.
        """
        suspects, self._interrupted = self._interrupted - {but}, set()
        for run in suspects:
            await self._failed(run)

    async def _failed(self, run: UUID) -> None:
        """Leave a run to be found again, or pass it over for good."""
        failures = self._failures.pop(run, 0) + 1
        if failures < ATTEMPTS:
            self._failures[run] = failures
            return
        log.error("run.passed_over", run=str(run), attempts=failures)
        self._waiting.pop(run, None)
        await in_database(_pass_over, run, self._clock())

    async def _embed(self) -> None:
        """Make vectors of intents that were recorded while no model was loaded."""
        means = self._means()
        if means.embedder is None:
            return
        self._may_lack_vectors = False
        try:
            embedded = await in_database(_embed, means.embedder, means.sealer)
        except EmbeddingUnavailable as error:
            log.warning("learning.not_embedded", reason=str(error))
            return
        self._may_lack_vectors = embedded == MAX_EMBEDDED


# What follows runs on a database thread, and imports there what no gateway needs to start.


def _unlearned(settled_s: float) -> list[UUID]:
    from execution.store import unlearned_runs  # noqa: PLC0415 - not before a gateway serves

    return unlearned_runs.unlearned(settled_s=settled_s, limit=AT_ONCE)


def _learn(run: UUID, means: Means, at: datetime) -> Learned | None:
    from learning import knowledge  # noqa: PLC0415 - not before a run has ended

    return knowledge.learn(run, means, at=at)


def _pass_over(run: UUID, at: datetime) -> None:
    from execution.store import unlearned_runs  # noqa: PLC0415 - not before a run has failed to teach

    unlearned_runs.mark(run, at=at)


def _embed(embedder: Embedder, sealer: Sealer) -> int:
    from graph import embed_patterns  # noqa: PLC0415 - not before a model is loaded

    return embed_patterns.embed_missing(embedder, sealer=sealer, limit=MAX_EMBEDDED).embedded
