"""Writes down what happens to the runs of this process: many at once, in order."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import ClassVar, Final
from uuid import UUID

import structlog
from django.db import Error as DatabaseError

from execution.changes import Changes
from execution.store.patience import Patience
from execution.store.writing import Refusal, Written
from gateway_project.foundation.database import in_database, is_away
from gateway_project.foundation.reasons import first_line

Write = Callable[[Sequence[Changes]], Sequence[Written | Refusal | None]]

MAX_BATCH: Final = 256
"""Entries of one transaction: some ten milliseconds' work."""
MAX_ROWS: Final = 4_000
"""Tasks and events of one transaction, but for a single larger entry: some hundred milliseconds'
work, so that many runs which end at once with all of their tasks do not hold up others."""
FIRST_RETRY_S: Final = 0.05
LONGEST_RETRY_S: Final = 2.0
"""What is over once the database is back, or has room again."""

log = structlog.get_logger(__name__)
Waiting = tuple[Changes, "asyncio.Future[Written | None]"]


class JournalClosed(Exception):
    """The journal ended before something could be written down."""

    code: ClassVar[str] = "shutting_down"

    def __init__(self) -> None:
        super().__init__("the gateway is shutting down: nothing more is written down")


class DatabaseJournal:
    """Collects changes and commits all that wait in one transaction.

    While one transaction is under way, what comes in waits for the next. If the database is away
    it is tried again until it is back.

    Args:
        write: Writes a batch in one transaction; blocking; says what became of each entry.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._waiting: deque[Waiting] = deque()
        self._something = asyncio.Event()
        self._closed = False
        self._away = False

    async def record(self, changes: Changes) -> Written | None:
        """Return once the changes are safe; as in `execution.changes.Journal`.

        Whoever stops waiting does not stop them from being written.

        Returns:
            What is known of how they were written.

        Raises:
            Fenced: If the run is another process's by now.
            NotApproved: If an approval cannot be used.
            JournalClosed: If the journal ended before they could be written.
        """
        if self._closed:
            raise JournalClosed
        done: asyncio.Future[Written | None] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_look_at)
        self._waiting.append((changes, done))
        self._something.set()
        return await asyncio.shield(done)

    async def settled(self, run: UUID) -> None:
        """Return once nothing waits to be written of a run, or ever will be."""
        waiting = [done for changes, done in self._waiting if changes.run == run]
        if waiting:
            await asyncio.wait(waiting)

    async def run(self) -> None:
        """Write until `close`, then what still waits."""
        try:
            while self._waiting or not self._closed:
                await self._something.wait()
                self._something.clear()
                while self._waiting:
                    await self._write_some()
        finally:
            self._closed = True
            for _, done in self._waiting:
                _fail(done, JournalClosed())
            self._waiting.clear()

    def close(self) -> None:
        """Let `run` write what waits and end; what comes afterwards is refused."""
        self._closed = True
        self._something.set()

    async def _write_some(self) -> None:
        """Write the longest-waiting entries; they leave the queue once their fate is known."""
        batch = self._next_batch()
        try:
            await self._write_batch(batch)
        except Exception as error:  # noqa: BLE001 - the top of the task: a defect is one entry's
            if len(batch) == 1:
                _give_up(batch[0], error)
            else:
                await self._write_singly(batch)
        for _ in batch:
            self._waiting.popleft()

    def _next_batch(self) -> list[Waiting]:
        batch: list[Waiting] = []
        rows = 0
        for one in islice(self._waiting, MAX_BATCH):
            rows += len(one[0].tasks) + len(one[0].events)
            if batch and rows > MAX_ROWS:
                break
            batch.append(one)
        return batch

    async def _write_singly(self, batch: Sequence[Waiting]) -> None:
        """Write entries one by one, so that one that cannot be written harms no other."""
        for one in batch:
            try:
                await self._write_batch([one])
            except Exception as error:  # noqa: BLE001 - likewise
                _give_up(one, error)

    async def _write_batch(self, batch: Sequence[Waiting]) -> None:
        """Write a batch, waiting for the database for as long as that is away."""
        retry_s, patience = FIRST_RETRY_S, Patience()
        while True:
            try:
                with patience.trying():
                    outcomes = await in_database(self._write, [changes for changes, _ in batch])
            except DatabaseError as error:
                if not is_away(error):
                    raise
                self._report_away(error)
                await asyncio.sleep(retry_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
                retry_s = min(retry_s * 2, LONGEST_RETRY_S)
                continue
            break
        self._away = False
        for (_, done), outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Exception):
                _fail(done, outcome)
            elif not done.done():
                done.set_result(outcome)

    def _report_away(self, error: Exception) -> None:
        if not self._away:
            log.warning("journal.database_away", error=first_line(error))
        self._away = True


def _give_up(one: Waiting, error: Exception) -> None:
    changes, done = one
    # What the database says may repeat what it was given.
    trace = None if isinstance(error, DatabaseError) else error
    log.error("journal.unwritable", run=str(changes.run), error=first_line(error), exc_info=trace)
    _fail(done, error)


def _look_at(done: asyncio.Future[Written | None]) -> None:
    """Count an error as heard of: whoever waited may have gone."""
    if not done.cancelled():
        done.exception()


def _fail(done: asyncio.Future[Written | None], error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
