"""Records events: never blocks, never raises, and loses nothing when the process is killed."""

from __future__ import annotations

from collections import Counter
from typing import Final

import structlog

from learning.memory import encoding
from learning.memory.encoding import Record, UnencodableEvent
from learning.memory.event import Event, IntentVectorRecord
from learning.memory.spool import Spool, SpoolUnavailable

MAX_KNOWN_VECTORS: Final = 10_000
"""Intents whose vectors this process has recorded and does not record again."""
RECORDED: Final = "recorded"
DROPPED: Final = "dropped"
"""Refused by the spool: it is full, or the disk is."""
UNENCODABLE: Final = "unencodable"
"""A defect of the caller: a field of the wrong type."""

log = structlog.get_logger(__name__)


class Capture:
    """Records events of this process in its spool file; thread-safe.

    What cannot be recorded is counted, and logged when it begins.
    """

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.counts: Counter[str] = Counter()
        """Events of this process so far: `RECORDED`, `DROPPED`, `UNENCODABLE`."""
        self._is_dropping = False
        self._known_vectors: set[tuple[int | None, str, int]] = set()

    def record(self, event: Event) -> None:
        """Record an event; when this returns, killing the process does not lose it."""
        self._record(event, event.kind)

    def record_vector(self, vector: IntentVectorRecord) -> None:
        """Record the vector of an intent, unless this process has done so before."""
        key = vector.team, vector.model, vector.intent_hash
        if key in self._known_vectors:
            return
        if len(self._known_vectors) >= MAX_KNOWN_VECTORS:
            self._known_vectors = set()
        if self._record(vector, "intent vector"):
            self._known_vectors.add(key)

    def has_vector(self, *, team: int | None, model: str, intent_hash: int) -> bool:
        """Whether this process has recorded the vector of an intent, so that none is sealed."""
        return (team, model, intent_hash) in self._known_vectors

    def close(self) -> None:
        """Release the spool file, so that any process may load it."""
        self.spool.close()

    def _record(self, one: Record, kind: str) -> bool:
        try:
            record = encoding.encode_record(one)
        except UnencodableEvent as error:
            if not self.counts[UNENCODABLE]:
                log.error("events.unencodable", kind=str(kind), reason=str(error))  # noqa: TRY400
            self.counts[UNENCODABLE] += 1
            return False
        try:
            self.spool.append(record)
        except OSError as error:
            self.counts[DROPPED] += 1
            if not self._is_dropping and not isinstance(error, SpoolUnavailable):
                log.error("events.spool_unwritable", reason=error.strerror)  # noqa: TRY400
            elif not self._is_dropping:
                log.error("events.spool_full", max_bytes=self.spool.max_bytes)  # noqa: TRY400
            self._is_dropping = True
            return False
        self.counts[RECORDED] += 1
        if self._is_dropping:
            self._is_dropping = False
            log.warning("events.recorded_again", dropped=self.counts[DROPPED])
        return True
