"""Runs that do what a test says, in place of those of an installation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from execution.changes import RunEvent
from execution.control import Action
from execution.planning.plan import Plan
from execution.process.progress_relay import ProgressReport
from execution.runs import CreatedRun, Runs
from execution.status import RunStatus, TaskStatus
from execution.store.runs import UnknownRun
from execution.view import RunView
from execution.workflow import Workflow
from gateway_project.foundation.caller import Caller
from tests.gateway import run_views

Ended = Callable[[RunView], RunView]


class FakeRuns(Runs):
    """Runs that end as soon as they are waited for.

    Attributes:
        started: What was asked for.
        handle_notification: What runs were told, and the workflow of a replan.
        becomes: What a run is once it has been waited for.
        events: What happens while it is.
        reported: What servers say of its calls meanwhile.
        waited: Seconds that were waited for.
        read: Of each time that a run was read, whether with results.
    """

    def __init__(self) -> None:
        self.started: list[tuple[Plan, dict[str, Any]]] = []
        self.handle_notification: list[tuple[Action, Workflow | None]] = []
        self.becomes: Ended = succeeded
        self.events: list[RunEvent] = []
        self.reported: list[ProgressReport] = []
        self.waited: list[float] = []
        self.read: list[bool] = []
        self.error: Exception | None = None
        self.known: RunView | None = None

    @property
    def is_executor(self) -> bool:
        return True

    async def start(self, caller: Caller, plan: Plan, **options: Any) -> CreatedRun:
        del caller
        if self.error is not None:
            raise self.error
        self.started.append((plan, options))
        tasks = [
            run_views.task(task.id, TaskStatus.PENDING, position=place)
            for place, task in enumerate(plan.workflow.tasks)
        ]
        self.known = run_views.view(*tasks, status=RunStatus.RUNNING)
        return CreatedRun(run=run_views.RUN, is_new=True)

    async def wait(self, caller: Caller, run: UUID, *, wait_s: float) -> RunView:
        self.waited.append(wait_s)
        view = await self.load_view(caller, run)
        # Whoever follows it gets to see what happens meanwhile.
        for _ in range(20):
            await asyncio.sleep(0)
        self.known = self.becomes(view)
        return self.known

    async def load_view(
        self, caller: Caller, run: UUID, *, results: bool = True, workflow: bool = False
    ) -> RunView:
        del caller, workflow
        self.read.append(results)
        if self.known is None or run != run_views.RUN:
            raise UnknownRun(run)
        return self.known

    async def control(
        self,
        caller: Caller,
        run: UUID,
        action: Action,
        *,
        workflow: Workflow | None = None,
        rerun_unknown: bool = False,
    ) -> None:
        del rerun_unknown
        if self.error is not None:
            raise self.error
        await self.load_view(caller, run, results=False)
        self.handle_notification.append((action, workflow))

    async def follow_events(
        self, caller: Caller, run: UUID, *, after: int = 0
    ) -> AsyncIterator[RunEvent]:
        await self.load_view(caller, run)
        for _ in range(5 if self.reported else 0):
            await asyncio.sleep(0)
        for event in self.events:
            if event.seq > after:
                yield event

    async def follow_progress(
        self, caller: Caller, run: UUID
    ) -> AsyncIterator[Sequence[ProgressReport]]:
        await self.load_view(caller, run)
        if self.reported:
            yield self.reported
        await asyncio.Event().wait()


def succeeded(view: RunView) -> RunView:
    """Return a run of which each task gave its name."""
    tasks = tuple(
        run_views.task(task.task, span=(0, 10), result=run_views.text(task.task))
        for task in view.tasks
    )
    return replace(view, tasks=tasks, status=RunStatus.SUCCEEDED)
