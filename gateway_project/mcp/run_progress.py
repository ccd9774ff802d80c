"""Progress of a run, told to the client that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from execution import events
from execution.changes import WHOLE_TASK, Event
from gateway_project.run_face.request import Watch, unwatched
from gateway_project.tool_card import clean

if TYPE_CHECKING:
    from execution.call import Progress
    from execution.process.reports import Report
    from execution.runs import Runs
    from execution.view import RunView
    from gateway_project.foundation.caller import Caller

FLUSH_S: Final = 0.5
"""The last reports of a run that has come to rest may take so long."""
MAX_MESSAGE: Final = 200
_BEGUN: Final = 0.5
"""Of a task that is under way, what counts as done."""
_MOST: Final = 0.98
"""Of a call that is under way, what can be done at most, whatever its server says."""
_CREEP: Final = 0.01
"""Share of what is left that news count which move nothing: reports have to grow."""
REPORTS_PAUSE_S: Final = 0.1
"""Between what is passed on of the servers' own reports, of each call the newest."""
_ENDS: Final[Mapping[str, str]] = {
    events.TASK_SUCCEEDED: "succeeded",
    events.TASK_FAILED: "failed",
    events.TASK_SKIPPED: "skipped",
    events.TASK_CANCELLED: "cancelled",
    events.TASK_UNKNOWN: "ended, and nobody knows how",
}
_WORDS: Final[Mapping[str, str]] = {
    **_ENDS,
    events.TASK_STARTED: "started",
    events.TASK_RETRIED: "is tried again",
    events.TASK_WAITING_APPROVAL: "waits for a person's approval",
    events.APPROVAL_DECIDED: "was decided on",
    events.RUN_STARTED: "started",
    events.RUN_ADOPTED: "goes on in another process",
    events.RUN_PAUSED: "is paused",
    events.RUN_RESUMED: "goes on",
    events.RUN_WAITING: "waits for a person",
    events.RUN_REPLANNED: "goes on by a new plan",
    events.RUN_UNKNOWN: "has a call of which nobody knows how it ended",
    events.RUN_ENDED: "ended",
    events.LAYER_COMPLETE: "has finished a layer",
}

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class Course:
    """How far a run has come, event by event.

    Attributes:
        tasks: How many it has.
        begun: Ids of those that are under way, or were.
        done: Ids of those that have ended.
        shares: Of tasks under way, how much is done as their servers say, in [0, 1].
        reached: What was last reported.
    """

    tasks: int
    begun: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    shares: dict[str, float] = field(default_factory=dict)
    reached: float = 0.0

    def take(self, event: Event) -> tuple[float, str] | None:
        """Return how many tasks are done by now, growing each time, and what happened.

        None: the event is not worth telling.

        Example:
            >>> from datetime import UTC, datetime
            >>> at = datetime(2026, 1, 1, tzinfo=UTC)
            >>> course = Course(tasks=2)
            >>> course.take(Event(seq=1, kind="task_started", at=at, task="log"))
            (0.5, 'log started (0 of 2 done)')
            >>> course.take(Event(seq=2, kind="task_succeeded", at=at, task="log"))
            (1.0, 'log succeeded (1 of 2 done)')
        """
        words = _WORDS.get(event.kind)
        if words is None:
            return None
        if event.task:
            self.begun.add(event.task)
            if event.item == WHOLE_TASK and event.kind in _ENDS:
                self.done.add(event.task)
        if not self._grow(self.tasks):
            return None
        what = _place(event.task, event.item) if event.task else "the run"
        return self.reached, f"{what} {words} {self._so_far}"

    def hear(self, report: Report) -> tuple[float, str] | None:
        """Return the same for what a server reports of a call that is under way.

        None: it came too late, or there is nothing left to grow by.

        Example:
            >>> from execution.process.reports import Report
            >>> course = Course(tasks=2)
            >>> course.hear(Report(task="log", item=-1, progress=3, total=4, message="page 3"))
            (0.875, 'log: page 3 (0 of 2 done)')
        """
        if report.task in self.done:
            return None
        self.begun.add(report.task)
        if report.item == WHOLE_TASK and report.total:
            share = min(max(report.progress / report.total, 0.0), _MOST)
            self.shares[report.task] = max(share, self.shares.get(report.task, 0.0))
        # However many reports a server sends, they never count as the end of its task.
        if not self._grow(len(self.done | self.begun)):
            return None
        said = clean(report.message).strip()[:MAX_MESSAGE] or _figures(report)
        return self.reached, f"{_place(report.task, report.item)}: {said} {self._so_far}"

    def _grow(self, bound: float) -> bool:
        """Reach what is done by now, or creep towards a bound; say whether that is further."""
        going = self.begun - self.done
        shares = sum(self.shares.get(task, 0.0) for task in going)
        measured = len(self.done) + _BEGUN * len(going) + (1 - _BEGUN) * shares
        if measured <= self.reached:
            measured = self.reached + _CREEP * (bound - self.reached)
        if measured <= self.reached:  # all is done: the answer itself says so
            return False
        self.reached = measured
        return True

    @property
    def _so_far(self) -> str:
        return f"({len(self.done)} of {self.tasks} done)"


def _place(task: str, item: int) -> str:
    return clean(task)[:MAX_MESSAGE] + ("" if item == WHOLE_TASK else f"[{item}]")


def _figures(report: Report) -> str:
    return f"{report.progress:g}" + (f" of {report.total:g}" if report.total else "")


def course_of(view: RunView) -> Course:
    """Return how far a run has come that was started before."""
    tasks = [task for task in view.tasks if task.item == WHOLE_TASK]
    course = Course(tasks=len(tasks))
    course.done.update(task.task for task in tasks if task.status.is_done)
    course.begun.update(task.task for task in tasks if task.started_at is not None)
    course.reached = float(len(course.done))
    return course


def watcher(runs: Runs, caller: Caller, progress: Progress | None) -> Watch:
    """Return what reports the events of a run while it is waited for."""
    if progress is None:
        return unwatched

    def watch(run: UUID) -> AbstractAsyncContextManager[None]:
        return _watched(runs, caller, run, progress)

    return watch


@asynccontextmanager
async def _watched(
    runs: Runs, caller: Caller, run: UUID, progress: Progress
) -> AsyncIterator[None]:
    reports = asyncio.create_task(_report(runs, caller, run, progress), name="progress")
    try:
        yield
        await asyncio.wait([reports], timeout=FLUSH_S)
    finally:
        reports.cancel()
        await asyncio.wait([reports])
        # What a client is told on the way must not cost it the answer.
        if not reports.cancelled() and (error := reports.exception()) is not None:
            log.warning("run.progress_lost", run=str(run), reason=repr(error))


async def _report(runs: Runs, caller: Caller, run: UUID, progress: Progress) -> None:
    view = await runs.view(caller, run, results=False)
    course = course_of(view)

    async def tell(told: tuple[float, str] | None) -> None:
        if told is not None:
            reached, message = told
            await progress(reached, float(course.tasks), message)

    async def pass_on() -> None:
        async for reports in runs.reports(caller, run):
            for report in reports:
                await tell(course.hear(report))
            await asyncio.sleep(REPORTS_PAUSE_S)

    async with asyncio.TaskGroup() as group:
        hearing = group.create_task(pass_on(), name="reports of servers")
        async for event in runs.follow(caller, run, after=view.last_seq):
            await tell(course.take(event))
        hearing.cancel()
