"""Relays servers' progress reports to local listeners; nothing is stored."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from execution.changes import TaskKey

MAX_PENDING_REPORTS: Final = 64
"""Calls of a run with a report waiting for a listener; beyond that the oldest is dropped."""
MAX_MESSAGE_CHARS: Final = 500
"""Characters of a message to pass on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgressReport:
    """A server's progress report of a call.

    Attributes:
        task: Id of the task.
        item: Index in the for-each list; `WHOLE_TASK`: not a for-each task.
        progress: Finite; increasing, if the server follows the protocol.
        total: Final value of `progress`; None: unknown.
        message: Message as received; empty: none.
    """

    task: str
    item: int
    progress: float
    total: float | None = None
    message: str = ""


class ProgressInbox:
    """The newest unread report of each call of a run."""

    def __init__(self) -> None:
        self._newest: dict[TaskKey, ProgressReport] = {}
        self._filled = asyncio.Event()

    def put(self, report: ProgressReport) -> None:
        """Add a report, replacing the call's previous one."""
        key = (report.task, report.item)
        self._newest.pop(key, None)
        self._newest[key] = report
        if len(self._newest) > MAX_PENDING_REPORTS:
            del self._newest[next(iter(self._newest))]
        self._filled.set()

    async def take(self) -> list[ProgressReport]:
        """Wait for reports and take them, oldest first."""
        await self._filled.wait()
        self._filled.clear()
        taken = list(self._newest.values())
        self._newest.clear()
        return taken


class ProgressRelay:
    """Passes reports to the listeners of a run; for one event loop."""

    def __init__(self) -> None:
        self._inboxes: defaultdict[UUID, set[ProgressInbox]] = defaultdict(set)

    @contextmanager
    def listen(self, run: UUID) -> Iterator[ProgressInbox]:
        """Yield an inbox that receives a run's reports from now on."""
        inbox = ProgressInbox()
        self._inboxes[run].add(inbox)
        try:
            yield inbox
        finally:
            self._inboxes[run].discard(inbox)
            if not self._inboxes[run]:
                del self._inboxes[run]

    def expect(self, run: UUID) -> None:
        """Have the calls of a run ask for progress before its first listener comes."""
        self._inboxes[run] |= set()

    def forget(self, run: UUID) -> None:
        """Forget a run that is released here, unless it has listeners."""
        if not self._inboxes.get(run, True):
            del self._inboxes[run]

    def is_followed(self, run: UUID) -> bool:
        """Whether anybody wants a run's reports: some servers refuse calls that ask for them."""
        return run in self._inboxes

    def publish(
        self,
        run: UUID,
        task: str,
        item: int,
        progress: float,
        total: float | None,
        message: str | None,
    ) -> None:
        """Pass on a report; non-finite figures are dropped."""
        inboxes = self._inboxes.get(run)
        if not inboxes or not math.isfinite(progress):
            return
        report = ProgressReport(
            task=task,
            item=item,
            progress=progress,
            total=total if total is not None and math.isfinite(total) else None,
            message=(message or "")[:MAX_MESSAGE_CHARS],
        )
        for inbox in inboxes:
            inbox.put(report)
