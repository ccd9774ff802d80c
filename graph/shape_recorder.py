"""Records the shapes of tools' results in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from django.db import Error as DatabaseError

from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.reasons import summarize_error
from graph.store import shapes
from graph.store.shapes import ObservedShape

FLUSH_INTERVAL_S: Final = 1.0
MAX_QUEUED: Final = 64
"""Results queued until their shapes are recorded; one per tool and team, others are dropped."""

log = structlog.get_logger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class _QueuedResult:
    """A result waiting for its shape to be recorded."""

    tool: int
    team: int | None
    definition_hash: str
    result: Mapping[str, Any]


class ShapeRecorder:
    """Samples results and widens the stored shapes by them.

    At most one result per second is read for each tool and team. All methods are for one event
    loop; the work is done on a database thread.
    """

    def __init__(
        self,
        *,
        on_changed: Callable[[], None] = lambda: None,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._on_changed = on_changed
        self._clock = clock
        self._queue: dict[tuple[int, int | None], _QueuedResult] = {}
        self._queued = asyncio.Event()
        self.dropped = 0
        """Number of results dropped because the queue was full."""

    def enqueue_result(
        self, tool: int, team: int | None, definition_hash: str, result: Mapping[str, Any]
    ) -> None:
        """Queue a result of a tool.

        Args:
            tool: Primary key.
            team: Of the caller; None: a caller without a team.
            definition_hash: Hash of the tool's current definition.
            result: Raw result of `tools/call`; must not be mutated afterwards.
        """
        key = (tool, team)
        if key in self._queue:
            return
        if len(self._queue) >= MAX_QUEUED:
            self.dropped += 1
            return
        self._queue[key] = _QueuedResult(
            tool=tool, team=team, definition_hash=definition_hash, result=result
        )
        self._queued.set()

    async def run(self) -> None:
        """Record the shapes of queued results, until cancelled."""
        while True:
            await self._queued.wait()
            await asyncio.sleep(FLUSH_INTERVAL_S)
            await self.flush()

    async def flush(self) -> None:
        """Record the shapes of all queued results; on a database error they are dropped."""
        self._queued.clear()
        results, self._queue = list(self._queue.values()), {}
        try:
            changed = await run_in_database_thread(_store_shapes, results, self._clock())
        except DatabaseError as error:
            log.warning("shapes.write_failed", error=summarize_error(error))
            return
        if changed:
            self._on_changed()


def _store_shapes(results: Sequence[_QueuedResult], at: datetime) -> int:
    """Store the shapes of results; return how many stored shapes changed."""
    from graph import output_shape

    described = ((result, output_shape.describe_shape(result.result)) for result in results)
    observed = [
        ObservedShape(
            tool=result.tool, team=result.team, definition_hash=result.definition_hash, shape=shape
        )
        for result, shape in described
        if shape is not None
    ]
    return (
        shapes.record_shapes(observed, merge=output_shape.merge_shapes, at=at) if observed else 0
    )
