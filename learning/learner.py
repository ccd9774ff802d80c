"""Learns from ended runs and episodes in the background, at low priority."""

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

from gateway_project.foundation.database import is_database_away, run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import Sealer
from learning.dependencies import LearnedFromRun, LearningDependencies
from tools.embed.embedder import Embedder, EmbeddingUnavailable

FIRST_SCAN_S: Final = 1.0
"""Delay of the first scan, while a gateway starts."""
SCAN_INTERVAL_S: Final = 60.0
"""Interval of scans for unlearned runs."""
SETTLED_S: Final = 30.0
"""Minimum age of scanned runs; the process that ended a run comes first."""
SCAN_LIMIT: Final = 100
MAX_QUEUED: Final = 1_000
"""Maximum queued runs; further ones are found by scans."""
DELAY_S: Final = 1.0
"""Delay before learning, so that callers waiting for the run come first."""
REST_FACTOR: Final = 4.0
"""Rest after each run, as a multiple of the time it took."""
RETRY_S: Final = 5.0
MAX_ATTEMPTS: Final = 3
"""Attempts after which a run is skipped."""
EMBED_BATCH_SIZE: Final = 64
"""Intents embedded in one batch."""

log = structlog.get_logger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Learner:
    """Learns from ended runs and episodes, one at a time, with a rest after each.

    Both are named by their ids, which are unique among both, and called runs here. For one event
    loop; the work runs on a database thread. Several processes may learn at once.
    """

    def __init__(
        self,
        dependencies: Callable[[], LearningDependencies],
        *,
        on_learned: Callable[[LearnedFromRun], None] = lambda _learned: None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._dependencies = dependencies
        self._on_learned = on_learned
        self._clock = clock
        self._queue: dict[UUID, None] = {}
        self._wake = asyncio.Event()
        self._failures: dict[UUID, int] = {}
        self._interrupted: set[UUID] = set()
        self._may_lack_vectors = True

    async def enqueue_ended_run(self, run: UUID) -> None:
        """Queue an ended run or episode; returns at once and never raises."""
        if len(self._queue) < MAX_QUEUED:
            self._queue[run] = None
            self._wake.set()

    async def run(self) -> None:
        """Learn until cancelled, from queued runs and from those found by scans."""
        settled_s = 0.0
        clock = asyncio.get_running_loop().time
        look_at = clock() + FIRST_SCAN_S
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(look_at):
                    await self._wake.wait()
            await asyncio.sleep(DELAY_S)
            try:
                if clock() >= look_at:
                    is_more = await self.scan(settled_s=settled_s)
                    settled_s, look_at = SETTLED_S, clock() + (0.0 if is_more else SCAN_INTERVAL_S)
                await self.drain()
            except django.db.Error as error:
                log.warning("learning.interrupted", reason=summarize_error(error))
                await asyncio.sleep(RETRY_S)
            except Exception:  # runs must go on in any case
                log.exception("learning.failed")
                await asyncio.sleep(SCAN_INTERVAL_S)

    async def scan(self, *, settled_s: float) -> bool:
        """Queue unlearned runs; return whether there may be more.

        Args:
            settled_s: Minimum seconds since the runs ended.

        Raises:
            django.db.Error: If the database is unavailable.
        """
        found = await run_in_database_thread(_load_unlearned, settled_s)
        random.shuffle(found)  # so that several processes seldom take the same one
        self._queue |= dict.fromkeys(found)
        if self._may_lack_vectors:
            await self._embed_missing()
        return len(found) == SCAN_LIMIT

    async def drain(self) -> None:
        """Learn from all queued runs.

        Raises:
            django.db.Error: If the database is unavailable; the remaining runs stay queued.
        """
        clock = asyncio.get_running_loop().time
        self._wake.clear()
        while self._queue:
            run = next(iter(self._queue))
            started = clock()
            await self._learn_from_run(run)
            await asyncio.sleep(REST_FACTOR * (clock() - started))

    async def _learn_from_run(self, run: UUID) -> None:
        """Learn from a run, and dequeue it.

        Raises:
            django.db.Error: If the database is unavailable; the run moves to the end of the queue.
        """
        self._queue.pop(run, None)
        try:
            learned = await run_in_database_thread(
                _learn_in_database, run, self._dependencies(), self._clock()
            )
        except Exception as error:
            if isinstance(error, django.db.Error) and is_database_away(error):
                self._queue[run] = None
                self._interrupted.add(run)
                self._wake.set()
                raise
            log.exception("run.learning_failed", run=str(run))
            await self._count_failure(run)
            return
        self._failures.pop(run, None)
        if learned is not None:
            self._may_lack_vectors |= learned.lacks_vectors
            log.info("run.learned", run=str(run), **learned.log_fields)
            self._on_learned(learned)
        await self._count_interrupted(but=run)

    async def _count_interrupted(self, *, but: UUID) -> None:
        """Count a failure of each interrupted run, since another run has succeeded.

        Thus a run that makes the database drop each connection is skipped in the end.
        """
        suspects, self._interrupted = self._interrupted - {but}, set()
        for run in suspects:
            await self._count_failure(run)

    async def _count_failure(self, run: UUID) -> None:
        """Leave a run to later scans, or skip it permanently."""
        failures = self._failures.pop(run, 0) + 1
        if failures < MAX_ATTEMPTS:
            self._failures[run] = failures
            return
        log.error("run.learning_skipped", run=str(run), attempts=failures)
        self._queue.pop(run, None)
        await run_in_database_thread(_mark_skipped, run, self._clock())

    async def _embed_missing(self) -> None:
        dependencies = self._dependencies()
        if dependencies.embedder is None:
            return
        self._may_lack_vectors = False
        try:
            embedded = await run_in_database_thread(
                _embed_in_database, dependencies.embedder, dependencies.sealer
            )
        except EmbeddingUnavailable as error:
            log.warning("learning.embedding_unavailable", reason=str(error))
            return
        self._may_lack_vectors = embedded == EMBED_BATCH_SIZE


# The functions below run on a database thread; late imports keep the gateway's start fast.


def _load_unlearned(settled_s: float) -> list[UUID]:
    from execution.store import unlearned_runs  # noqa: PLC0415 - not before a gateway serves
    from learning.store import episodes  # noqa: PLC0415 - not before a gateway serves

    runs = unlearned_runs.load_unlearned_runs(settled_s=settled_s, limit=SCAN_LIMIT)
    return [*runs, *episodes.load_waiting(settled_s=settled_s, limit=SCAN_LIMIT - len(runs))]


def _learn_in_database(
    run: UUID, dependencies: LearningDependencies, at: datetime
) -> LearnedFromRun | None:
    from learning import knowledge  # noqa: PLC0415 - not before a run has ended

    learned = knowledge.learn_from_run(run, dependencies, at=at)
    return learned or knowledge.learn_from_episode(run, dependencies)


def _mark_skipped(run: UUID, at: datetime) -> None:
    from execution.store import unlearned_runs  # noqa: PLC0415 - not before a run has failed to teach
    from learning.store import episodes  # noqa: PLC0415 - not before a run has failed to teach

    if not unlearned_runs.mark_learned(run, at=at):
        episodes.delete_episode(run)


def _embed_in_database(embedder: Embedder, sealer: Sealer) -> int:
    from graph import embed_patterns  # noqa: PLC0415 - not before a model is loaded

    return embed_patterns.embed_missing_patterns(
        embedder, sealer=sealer, limit=EMBED_BATCH_SIZE
    ).embedded
