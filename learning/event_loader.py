"""Loads events from spool files into the database, in the background, each exactly once."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final
from uuid import UUID

import django.db
import structlog

from gateway_project.foundation import telemetry
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from learning.memory import encoding, spool
from learning.memory.capture import Capture
from learning.memory.encoding import DamagedRecord, Record

if TYPE_CHECKING:
    from pathlib import Path

LOAD_INTERVAL_S: Final = 2.0
"""Interval of looking for events of this process to be loaded."""
MAX_DELAY_S: Final = 10.0
"""Longest wait for a larger batch, while events keep coming: a transaction takes some 5 ms of
processor time however few they are."""
LOAD_BYTES: Final = 200_000
"""Bytes of a batch that is worth a transaction; some 1,500 calls."""
ADOPT_INTERVAL_S: Final = 10.0
"""Interval of looking for files of other processes, which have ended."""
RETRY_S: Final = 5.0
LAST_LOAD_TIMEOUT_S: Final = 2.0
"""Time for loading the last events at shutdown; whatever remains is loaded by another process."""
BATCH_RECORDS: Final = 2_000
"""Records per transaction; some 30 ms."""
READ_BYTES: Final = 2 * encoding.MAX_RECORD_BYTES
"""Bytes of a file read at once; the longest record fits."""
INCOMPLETE: Final = "incomplete record"

EndAndRecord = tuple[int, Record]
"""A record, and the offset of its end in the bytes that were read."""

LOADED: Final = "loaded"
REFUSED: Final = "refused"
"""Refused by PostgreSQL: a defect."""
ORPHANED: Final = "orphaned"
"""Of a team that was deleted before they were loaded."""

log = structlog.get_logger(__name__)


class EventLoader:
    """Loads the events of this process, and those of processes that have ended.

    Every process of an installation may run one. Which bytes of a file have been loaded is stored
    in the transaction that stores their events, so that no event is lost or doubled, whenever a
    process is killed and whatever backup is restored.
    """

    def __init__(self, capture: Capture) -> None:
        self.counts: Counter[str] = Counter()
        """Records so far: `LOADED`, `REFUSED`, `ORPHANED`."""
        self._capture = capture
        self._spool = capture.spool
        self._published: Counter[str] = Counter()
        self._positions: dict[UUID, int] = {}
        self._adopt_at = 0.0
        self._load_by = 0.0
        self._last_seen: tuple[UUID | None, int] = (None, 0)

    async def run(self) -> None:
        """Load until cancelled, and once more then."""
        is_away = False
        while True:
            try:
                await asyncio.sleep(RETRY_S if is_away else LOAD_INTERVAL_S)
                self._publish_counts()
                if is_away or self.is_due(time.monotonic()):
                    await run_in_database_thread(self.load_pending)
                is_away = False
            except asyncio.CancelledError:
                await self._load_last()
                raise
            except django.db.Error as error:
                if not is_away:
                    log.warning("events.loading_interrupted", reason=summarize_error(error))
                is_away = True
            except Exception:  # top of a task: events stay in the spool
                log.exception("events.loading_failed")
                is_away = True

    async def _load_last(self) -> None:
        try:
            async with asyncio.timeout(LAST_LOAD_TIMEOUT_S):
                await run_in_database_thread(self._load_own)
        except (TimeoutError, django.db.Error, OSError) as error:
            log.info("events.left_in_spool", reason=type(error).__name__)
        self._publish_counts()

    def _publish_counts(self) -> None:
        """Add what was counted since the last time to the metrics."""
        counted = self._capture.counts + self.counts
        for outcome, count in (counted - self._published).items():
            telemetry.events.labels(outcome).inc(count)
        self._published = counted

    def is_due(self, now: float) -> bool:
        """Return whether to load now: once no more events come, or many wait, or for long.

        Args:
            now: Seconds of a monotonic clock.
        """
        spool_id, size = seen = self._spool.current_file
        is_quiet, self._last_seen = seen == self._last_seen, seen
        waiting = 0 if spool_id is None else size - self._positions.get(spool_id, 0)
        is_due = is_quiet or waiting >= LOAD_BYTES or now >= self._load_by
        if is_due:
            self._load_by = now + MAX_DELAY_S
        return is_due

    def load_pending(self) -> None:
        """Load this process's events, and now and then the files of processes that have ended.

        Raises:
            django.db.Error: If the database is unavailable; the events stay in the spool.
            OSError: If a file cannot be read.
        """
        self._load_own()
        now = time.monotonic()
        if now >= self._adopt_at:
            self._adopt_at = now + ADOPT_INTERVAL_S
            self.adopt_files()

    def adopt_files(self) -> None:
        """Load and delete the files that no process is writing.

        Raises:
            django.db.Error: If the database is unavailable.
            OSError: If a file cannot be read or deleted.
        """
        spool.delete_unfinished(self._spool.folder, now=time.time())
        for spool_id in spool.list_files(self._spool.folder):
            fd = spool.open_abandoned(self._spool.folder, spool_id)
            if fd is None:
                continue
            try:
                self._load_file(fd, spool_id, os.fstat(fd).st_size, is_ended=True)
                _delete_loaded(self._spool.folder, spool_id)
                self._positions.pop(spool_id, None)
            finally:
                os.close(fd)

    def _load_own(self) -> None:
        spool_id, size = self._spool.current_file
        if spool_id is None or self._positions.get(spool_id) == size:
            return
        fd = os.open(spool.file_path(self._spool.folder, spool_id), os.O_RDONLY)
        try:
            self._load_file(fd, spool_id, size, is_ended=False)
        finally:
            os.close(fd)

    def _load_file(self, fd: int, spool_id: UUID, size: int, *, is_ended: bool) -> None:
        """Load a file up to a size.

        Args:
            fd: Descriptor of the file.
            spool_id: Its id.
            size: Its size in bytes; a file that is being written ends with a complete record.
            is_ended: Whether its process may have died while it wrote the last record.
        """
        position = self._positions.get(spool_id)
        if position is None:
            position = _load_position(spool_id)
        while position < size:
            content = os.pread(fd, min(READ_BYTES, size - position), position)
            batch, problem = _read_batch(content)
            if not batch:
                if is_ended or problem != INCOMPLETE:
                    log.error(
                        "events.unreadable",
                        spool=str(spool_id),
                        bytes=size - position,
                        reason=problem,
                    )
                break
            position = self._store_batch(batch, spool_id, position)
            self._positions[spool_id] = position
        self._positions[spool_id] = position

    def _store_batch(self, batch: Sequence[EndAndRecord], spool_id: UUID, start: int) -> int:
        """Store a batch; return the position up to which the file is loaded then."""
        from learning.store import events  # noqa: PLC0415 - not before a gateway serves

        end = start + batch[-1][0]
        try:
            orphaned = events.store_records(
                [record for _, record in batch], spool=spool_id, start=start, end=end
            )
        except events.PositionMoved:
            return events.load_position(spool_id)
        except events.RecordRefused as error:
            return self._store_acceptable(batch, spool_id, start, reason=str(error))
        self.counts[LOADED] += len(batch) - orphaned
        self.counts[ORPHANED] += orphaned
        return end

    def _store_acceptable(
        self, batch: Sequence[EndAndRecord], spool_id: UUID, start: int, *, reason: str
    ) -> int:
        """Store what the database accepts of a batch, by halving it; return the new position."""
        from learning.store import events  # noqa: PLC0415 - not before a gateway serves

        if len(batch) > 1:
            half = len(batch) // 2
            middle = self._store_batch(batch[:half], spool_id, start)
            if middle != start + batch[half - 1][0]:  # another loader was faster
                return middle
            rest = [(end - (middle - start), record) for end, record in batch[half:]]
            return self._store_batch(rest, spool_id, middle)
        log.error("events.refused", spool=str(spool_id), position=start, reason=reason)
        self.counts[REFUSED] += 1
        end = start + batch[0][0]
        try:
            events.store_records((), spool=spool_id, start=start, end=end)
        except events.PositionMoved:
            return events.load_position(spool_id)
        return end


def _read_batch(content: bytes) -> tuple[list[EndAndRecord], str]:
    """Return the first records of some bytes, and why there are no more."""
    batch: list[EndAndRecord] = []
    records = islice(encoding.iterate_records(content), BATCH_RECORDS)
    while True:
        try:
            found = next(records, None)
        except DamagedRecord as error:
            return batch, str(error)
        if found is None:
            return batch, INCOMPLETE
        batch.append(found)


def _load_position(spool_id: UUID) -> int:
    from learning.store import events  # noqa: PLC0415 - not before a gateway serves

    return events.load_position(spool_id)


def _delete_loaded(folder: Path, spool_id: UUID) -> None:
    """Delete a loaded file, and only then forget its position: it must not be loaded again."""
    from learning.store import events  # noqa: PLC0415 - not before a gateway serves

    spool.delete_file(folder, spool_id)
    events.forget_file(spool_id)
