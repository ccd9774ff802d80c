"""The journal: writes the changes of a process's runs in batches, in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import ClassVar, Final
from uuid import UUID

import structlog
from django.db import Error as DatabaseError

from execution.changes import RunChanges
from execution.run_dependencies import retry_until_available
from execution.store.fencing import Refusal
from gateway_project.foundation.reasons import summarize_error

WriteBatch = Callable[[Sequence[RunChanges]], Sequence[Refusal | None]]

MAX_BATCH_ENTRIES: Final = 256
"""Entries per transaction: some ten milliseconds of work."""
MAX_BATCH_ROWS: Final = 4_000
"""Task and event rows per transaction, except for a single larger entry: some hundred
milliseconds of work, so that many runs ending at once do not delay others."""

log = structlog.get_logger(__name__)
QueuedEntry = tuple[RunChanges, "asyncio.Future[None]"]


class JournalClosed(Exception):
    """The journal was closed before something could be written."""

    code: ClassVar[str] = "shutting_down"

    def __init__(self) -> None:
        super().__init__("the gateway is shutting down: nothing more is recorded")


class DatabaseJournal:
    """Collects changes and commits all waiting ones in one transaction.

    Changes that arrive during a transaction wait for the next. If the database is unavailable,
    writing is retried until it is back.

    Args:
        write: Writes a batch in one transaction; blocking; returns each entry's outcome.
    """

    def __init__(self, write: WriteBatch) -> None:
        self._write = write
        self._queue: deque[QueuedEntry] = deque()
        self._wake = asyncio.Event()
        self._is_closed = False

    async def record(self, changes: RunChanges) -> None:
        """Return once the changes are durable; as in `execution.changes.Journal`.

        Cancelling this does not prevent the write.

        Raises:
            RunFenced: If another process has claimed the run.
            CallNotApproved: If an approval cannot be used.
            JournalClosed: If the journal closed first.
        """
        if self._is_closed:
            raise JournalClosed
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.add_done_callback(_consume_exception)
        self._queue.append((changes, future))
        self._wake.set()
        await asyncio.shield(future)

    async def wait_until_settled(self, run: UUID) -> None:
        """Return once no entry of a run is queued."""
        waiting = [future for changes, future in self._queue if changes.run == run]
        if waiting:
            await asyncio.wait(waiting)

    async def run(self) -> None:
        """Write until `close`, then write what is queued."""
        try:
            while self._queue or not self._is_closed:
                await self._wake.wait()
                self._wake.clear()
                while self._queue:
                    await self._write_next_batch()
        finally:
            self._is_closed = True
            for _, future in self._queue:
                _fail_future(future, JournalClosed())
            self._queue.clear()

    def close(self) -> None:
        """Let `run` flush the queue and end; later changes are rejected."""
        self._is_closed = True
        self._wake.set()

    async def _write_next_batch(self) -> None:
        """Write the oldest entries; they leave the queue once their outcome is known."""
        batch = self._select_batch()
        try:
            await self._write_batch(batch)
        except Exception as error:  # noqa: BLE001 - top of the task; a defect is one entry's
            if len(batch) == 1:
                _reject_entry(batch[0], error)
            else:
                await self._write_singly(batch)
        for _ in batch:
            self._queue.popleft()

    def _select_batch(self) -> list[QueuedEntry]:
        batch: list[QueuedEntry] = []
        rows = 0
        for entry in islice(self._queue, MAX_BATCH_ENTRIES):
            rows += len(entry[0].tasks) + len(entry[0].events)
            if batch and rows > MAX_BATCH_ROWS:
                break
            batch.append(entry)
        return batch

    async def _write_singly(self, batch: Sequence[QueuedEntry]) -> None:
        """Write entries one by one, so that a defective one affects no other."""
        for entry in batch:
            try:
                await self._write_batch([entry])
            except Exception as error:  # noqa: BLE001 - likewise
                _reject_entry(entry, error)

    async def _write_batch(self, batch: Sequence[QueuedEntry]) -> None:
        """Write a batch, retrying while the database is unavailable."""
        outcomes = await retry_until_available(self._write, [changes for changes, _ in batch])
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if outcome is not None:
                _fail_future(future, outcome)
            elif not future.done():
                future.set_result(None)


def _reject_entry(entry: QueuedEntry, error: Exception) -> None:
    changes, future = entry
    # The database's message may repeat values of the entry.
    trace = None if isinstance(error, DatabaseError) else error
    log.error(
        "journal.write_failed", run=str(changes.run), error=summarize_error(error), exc_info=trace
    )
    _fail_future(future, error)


def _consume_exception(future: asyncio.Future[None]) -> None:
    """Mark the exception as retrieved; the caller may be gone."""
    if not future.cancelled():
        future.exception()


def _fail_future(future: asyncio.Future[None], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
