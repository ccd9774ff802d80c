"""Reports the progress of a run to the client that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from uuid import UUID

import structlog

from execution import events
from execution.changes import WHOLE_TASK, RunEvent
from gateway_project.foundation.task_group import TaskGroup
from gateway_project.foundation.text import strip_invisible
from gateway_project.runs.request import WatchRun, watch_nothing

if TYPE_CHECKING:
    from execution.process.progress_relay import ProgressReport
    from execution.runs import Runs
    from execution.view import RunView
    from gateway_project.foundation.caller import Caller
    from tools.upstream.request import ProgressListener

FLUSH_TIMEOUT_S: Final = 0.5
"""Time limit for delivering the last reports after the run has settled."""
MAX_MESSAGE: Final = 200
_STARTED_SHARE: Final = 0.5
"""Part of a running task that counts as done."""
_MAX_SHARE: Final = 0.98
"""Upper bound of a running call's share, whatever its server reports."""
_CREEP_SHARE: Final = 0.01
"""Part of the remainder that an event without measurable progress adds: reports must increase."""
REPORT_INTERVAL_S: Final = 0.1
"""Pause between forwarding the servers' own reports; of each call only the newest is sent."""
_END_WORDS: Final[Mapping[str, str]] = {
    events.TASK_SUCCEEDED: "succeeded",
    events.TASK_FAILED: "failed",
    events.TASK_SKIPPED: "skipped",
    events.TASK_CANCELLED: "cancelled",
    events.TASK_UNKNOWN: "ended with an unknown outcome",
}
_WORDS: Final[Mapping[str, str]] = {
    **_END_WORDS,
    events.TASK_STARTED: "started",
    events.TASK_RETRIED: "is being retried",
    events.TASK_WAITING_APPROVAL: "waits for a person's approval",
    events.APPROVAL_DECIDED: "was decided",
    events.RUN_STARTED: "started",
    events.RUN_ADOPTED: "continues in another process",
    events.RUN_PAUSED: "is paused",
    events.RUN_RESUMED: "has resumed",
    events.RUN_WAITING: "waits for a person",
    events.RUN_REPLANNED: "continues with a new plan",
    events.RUN_UNKNOWN: "has a call with an unknown outcome",
    events.RUN_ENDED: "ended",
    events.LAYER_COMPLETE: "has finished a layer",
}

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class RunProgress:
    """Progress of a run, updated event by event.

    Attributes:
        tasks: Number of tasks.
        started: Ids of the tasks that have started, ended ones included.
        done: Ids of the tasks that have ended.
        shares: Progress of running tasks as reported by their servers, in [0, 1].
        reported: Last reported value, in tasks.
    """

    tasks: int
    started: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)
    shares: dict[str, float] = field(default_factory=dict)
    reported: float = 0.0

    def apply_event(self, event: RunEvent) -> tuple[float, str] | None:
        """Return the number of tasks done, larger each time, and a text about the event.

        None if the event is not worth reporting.

        Example:
            >>> from datetime import UTC, datetime
            >>> at = datetime(2026, 1, 1, tzinfo=UTC)
            >>> progress = RunProgress(tasks=2)
            >>> progress.apply_event(RunEvent(seq=1, kind="task_started", at=at, task="log"))
            (0.5, 'log started (0 of 2 done)')
            >>> progress.apply_event(RunEvent(seq=2, kind="task_succeeded", at=at, task="log"))
            (1.0, 'log succeeded (1 of 2 done)')
        """
        words = _WORDS.get(event.kind)
        if words is None:
            return None
        if event.task:
            self.started.add(event.task)
            if event.item == WHOLE_TASK and event.kind in _END_WORDS:
                self.done.add(event.task)
        if not self._advance(self.tasks):
            return None
        subject = _name_task(event.task, event.item) if event.task else "the run"
        return self.reported, f"{subject} {words} {self._summary}"

    def apply_report(self, report: ProgressReport) -> tuple[float, str] | None:
        """Return the same for a server's report on a running call.

        None if it came too late or leaves no room to increase.

        Example:
            >>> from execution.process.progress_relay import ProgressReport
            >>> progress = RunProgress(tasks=2)
            >>> progress.apply_report(ProgressReport(task="log", item=-1, progress=3, total=4,
            ...     message="page 3"))
            (0.875, 'log: page 3 (0 of 2 done)')
        """
        if report.task in self.done:
            return None
        self.started.add(report.task)
        if report.item == WHOLE_TASK and report.total:
            share = min(max(report.progress / report.total, 0.0), _MAX_SHARE)
            self.shares[report.task] = max(share, self.shares.get(report.task, 0.0))
        # Reports alone never complete a task, however many a server sends.
        if not self._advance(len(self.done | self.started)):
            return None
        text = strip_invisible(report.message).strip()[:MAX_MESSAGE] or _format_progress(report)
        return self.reported, f"{_name_task(report.task, report.item)}: {text} {self._summary}"

    def _advance(self, bound: float) -> bool:
        """Raise `reported` to the measured progress, or creep towards a bound; tell if it rose."""
        running = self.started - self.done
        shares = sum(self.shares.get(task, 0.0) for task in running)
        measured = len(self.done) + _STARTED_SHARE * len(running) + (1 - _STARTED_SHARE) * shares
        if measured <= self.reported:
            measured = self.reported + _CREEP_SHARE * (bound - self.reported)
        if measured <= self.reported:  # all is done, which the answer itself reports
            return False
        self.reported = measured
        return True

    @property
    def _summary(self) -> str:
        return f"({len(self.done)} of {self.tasks} done)"


def _name_task(task: str, item: int) -> str:
    return strip_invisible(task)[:MAX_MESSAGE] + ("" if item == WHOLE_TASK else f"[{item}]")


def _format_progress(report: ProgressReport) -> str:
    return f"{report.progress:g}" + (f" of {report.total:g}" if report.total else "")


def resume_progress(view: RunView) -> RunProgress:
    """Return the progress of a run that has already started."""
    tasks = [task for task in view.tasks if task.item == WHOLE_TASK]
    run_progress = RunProgress(tasks=len(tasks))
    run_progress.done.update(task.task for task in tasks if task.status.is_done)
    run_progress.started.update(task.task for task in tasks if task.started_at is not None)
    run_progress.reported = float(len(run_progress.done))
    return run_progress


def make_watcher(runs: Runs, caller: Caller, progress: ProgressListener | None) -> WatchRun:
    """Return a function that reports a run's events while a client waits for the run."""
    if progress is None:
        return watch_nothing

    def watch(run: UUID) -> AbstractAsyncContextManager[None]:
        return _watch_run(runs, caller, run, progress)

    return watch


@asynccontextmanager
async def _watch_run(
    runs: Runs, caller: Caller, run: UUID, progress: ProgressListener
) -> AsyncIterator[None]:
    reports = asyncio.create_task(_relay_progress(runs, caller, run, progress), name="progress")
    try:
        yield
        await asyncio.wait([reports], timeout=FLUSH_TIMEOUT_S)
    finally:
        reports.cancel()
        await asyncio.wait([reports])
        # A failure to report progress must not cost the client its answer.
        if not reports.cancelled() and (error := reports.exception()) is not None:
            log.warning("run.progress_report_failed", run=str(run), reason=repr(error))


async def _relay_progress(
    runs: Runs, caller: Caller, run: UUID, progress: ProgressListener
) -> None:
    view = await runs.load_view(caller, run, results=False)
    run_progress = resume_progress(view)

    async def send(update: tuple[float, str] | None) -> None:
        if update is not None:
            done, message = update
            await progress(done, float(run_progress.tasks), message)

    async def forward_reports() -> None:
        async for reports in runs.follow_progress(caller, run):
            for report in reports:
                await send(run_progress.apply_report(report))
            await asyncio.sleep(REPORT_INTERVAL_S)

    async with TaskGroup() as group:
        forwarding = group.create_task(forward_reports(), name="reports of servers")
        async for event in runs.follow_events(caller, run, after=view.last_seq):
            await send(run_progress.apply_event(event))
        forwarding.cancel()
