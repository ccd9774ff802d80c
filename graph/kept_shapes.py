"""Learns the shapes of tools' results in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import structlog
from django.db import Error as DatabaseError

from gateway_project.foundation.database import in_database
from gateway_project.foundation.reasons import first_line
from graph.store import shapes
from graph.store.shapes import Seen

EVERY_S: Final = 1.0
MAX_WAITING: Final = 64
"""Results kept until their shapes are taken; one a tool and team, the others are let go."""

log = structlog.get_logger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Result:
    """What a tool answered, waiting."""

    tool: int
    team: int | None
    definition_hash: str
    result: Mapping[str, Any]


class KeptShapes:
    """Takes the shape of a result now and then, and stores what is new in it.

    Of each tool and team at most one result a second is looked at. All methods are for one event
    loop; the work is done on a database thread.

    Args:
        on_changed: Told when a stored shape has changed.
        clock: Tells when results were seen.
    """

    def __init__(
        self,
        *,
        on_changed: Callable[[], None] = lambda: None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._on_changed = on_changed
        self._clock = clock
        self._waiting: dict[tuple[int, int | None], _Result] = {}
        self._came = asyncio.Event()
        self.dropped = 0
        """Results let go unseen because too many came at once."""

    def saw(
        self, tool: int, team: int | None, definition_hash: str, result: Mapping[str, Any]
    ) -> None:
        """Take note of what a tool answered.

        Args:
            tool: Primary key.
            team: Of the caller; None: a caller without a team.
            definition_hash: Of the definition that the tool has.
            result: Raw result of `tools/call`; not to be changed from now on.
        """
        place = (tool, team)
        if place in self._waiting:
            return
        if len(self._waiting) >= MAX_WAITING:
            self.dropped += 1
            return
        self._waiting[place] = _Result(
            tool=tool, team=team, definition_hash=definition_hash, result=result
        )
        self._came.set()

    async def run(self) -> None:
        """Take the shapes of what is seen, until cancelled."""
        while True:
            await self._came.wait()
            await asyncio.sleep(EVERY_S)
            await self.flush()

    async def flush(self) -> None:
        """Take the shapes of what waits; what the database does not take is let go."""
        self._came.clear()
        taken, self._waiting = list(self._waiting.values()), {}
        try:
            changed = await in_database(_learn, taken, self._clock())
        except DatabaseError as error:
            log.warning("shapes.not_written", error=first_line(error))
            return
        if changed:
            self._on_changed()


def _learn(results: Sequence[_Result], at: datetime) -> int:
    """Store the shapes of results; return how many stored shapes changed."""
    from graph import output_shape  # noqa: PLC0415 - not needed before a tool has answered

    taken = ((one, output_shape.shape_of(one.result)) for one in results)
    seen = [
        Seen(tool=one.tool, team=one.team, definition_hash=one.definition_hash, shape=shape)
        for one, shape in taken
        if shape is not None
    ]
    return shapes.record(seen, merge=output_shape.merge, at=at) if seen else 0
