"""What servers report of calls under way, for those of this process who listen; none is kept."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

MAX_CALLS: Final = 64
"""Calls of a run whose newest report waits for a listener; of more, the oldest gives way."""
MAX_MESSAGE: Final = 500
"""Characters of a message that are passed on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """How far a call has come, as its server says.

    Attributes:
        task: Id of the task.
        item: Place in the list that it runs for; `WHOLE_TASK`: it runs once.
        progress: Finite; grows from report to report, if the server keeps to the protocol.
        total: What progress leads to; None: not known.
        message: What the server says of it, as it came; empty: nothing.
    """

    task: str
    item: int
    progress: float
    total: float | None = None
    message: str = ""


class Inbox:
    """The newest report of each call of a run that its listener has not taken yet."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, int], Report] = {}
        self._filled = asyncio.Event()

    def put(self, report: Report) -> None:
        """Add a report in place of the one before it."""
        place = (report.task, report.item)
        self._newest.pop(place, None)
        self._newest[place] = report
        if len(self._newest) > MAX_CALLS:
            del self._newest[next(iter(self._newest))]
        self._filled.set()

    async def take(self) -> list[Report]:
        """Wait for reports and return them, the oldest first."""
        await self._filled.wait()
        self._filled.clear()
        taken = list(self._newest.values())
        self._newest.clear()
        return taken


class Reports:
    """Passes reports on to those who listen to a run; for one event loop."""

    def __init__(self) -> None:
        self._listening: defaultdict[UUID, set[Inbox]] = defaultdict(set)

    @contextmanager
    def listen(self, run: UUID) -> Iterator[Inbox]:
        """Yield where the reports of a run arrive from now on."""
        inbox = Inbox()
        self._listening[run].add(inbox)
        try:
            yield inbox
        finally:
            self._listening[run].discard(inbox)
            if not self._listening[run]:
                del self._listening[run]

    def tell(
        self,
        run: UUID,
        task: str,
        item: int,
        progress: float,
        total: float | None,
        message: str | None,
    ) -> None:
        """Pass on what a server reports; figures that are none are left out."""
        inboxes = self._listening.get(run)
        if not inboxes or not math.isfinite(progress):
            return
        report = Report(
            task=task,
            item=item,
            progress=progress,
            total=total if total is not None and math.isfinite(total) else None,
            message=(message or "")[:MAX_MESSAGE],
        )
        for inbox in inboxes:
            inbox.put(report)
