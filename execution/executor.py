"""Carries a run on: starts what is ready, writes down what happens, until the run is at rest."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from execution import events, failure
from execution.calls import Calls, Ended
from execution.changes import Fenced, NotApproved
from execution.failure import ApprovalUnusable
from execution.parse import InvalidWorkflow
from execution.run_state import RunState
from execution.standing import (
    Answered,
    Invocation,
    Means,
    Place,
    Standing,
    TaskStanding,
)
from execution.status import RunStatus, TaskStatus
from execution.task_changes import Begun
from execution.workflow import Workflow

__all__ = ["Answered", "Execution", "Invocation", "Means", "Place", "Standing", "TaskStanding"]

DONE: Final = "done"
ABORTED: Final = "aborted"
DEADLINE: Final = "deadline_exceeded"
_EVENTS: Final = {
    RunStatus.PAUSED: events.RUN_PAUSED,
    RunStatus.WAITING: events.RUN_WAITING,
    RunStatus.UNKNOWN: events.RUN_UNKNOWN,
    RunStatus.RUNNING: events.RUN_RESUMED,
}


class Execution:
    """One run, while this process holds it.

    All methods belong to the thread of the event loop; what they are told takes effect, and is
    written down, by `run`. They may be called before it. What comes after `run` has returned has
    no effect here: its command stays open in the database, and whoever takes the run finds it.

    `command` is the primary key of the command that a method carries out; it is marked as applied
    in the transaction that writes its effect down, with `done` or the code of a refusal.

    One write is under way at a time. What happens meanwhile goes into the next, so that the end of
    a call and the intents that follow from it share a transaction; and a call is made only once
    its intent is safe.
    """

    def __init__(self, standing: Standing, means: Means) -> None:
        self._standing = standing
        self._means = means
        self._state = RunState(standing, means.prepare, keeps_all=means.recall is None)
        self._wake = asyncio.Event()
        self._calls = Calls(means, on_ended=self._ended, on_room=self._wake.set)
        self._inbox: deque[Callable[[datetime], None]] = deque()
        self._status = standing.status
        self._is_paused = standing.status is RunStatus.PAUSED
        self._is_halted = False
        self._called_off = ""
        self._must_recall = True

    @property
    def workflow(self) -> Workflow:
        """The workflow as it is now."""
        return self._state.workflow

    async def run(self) -> RunStatus:
        """Go on until the run has ended or rests, and everything of it is written down.

        Cancelling this cancels the calls in flight; their tasks then stand as running, with
        nobody knowing how they ended.

        Returns:
            A status that is final or at rest; `RUNNING` after `halt`, once the calls in flight
            have ended.

        Raises:
            Fenced: If another process has taken the run over; calls in flight are cancelled.
        """
        fenced: Fenced | None = None
        deadline = self._set_deadline()
        try:
            async with asyncio.TaskGroup() as group:
                try:
                    return await self._carry_on(group)
                except Fenced as error:
                    fenced = error
                    self._calls.cancel()
        finally:
            self._calls.close()
            if deadline is not None:
                deadline.cancel()
        raise fenced

    def pause(self, *, command: int | None = None) -> None:
        """Start nothing more; calls in flight go on to their end."""
        self._tell(partial(self._pause, command))

    def resume(self, *, command: int | None = None, rerun_unknown: bool = False) -> None:
        """Go on after a pause.

        Args:
            command: That this carries out.
            rerun_unknown: Whether calls of which nobody knows how they ended are made again; only
                ever because a person chose so.
        """
        self._tell(partial(self._resume, command, rerun_unknown))

    def go_on(self, *, command: int | None = None) -> None:
        """Start the next layer, after the last one was looked at."""
        self._tell(partial(self._resume, command, False))

    def abort(self, *, command: int | None = None) -> None:
        """End the run: cancel the calls in flight, start nothing more."""
        self._call_off(ABORTED)
        self._tell(partial(self._end_early, TaskStatus.CANCELLED, command))

    def replan(self, new: Workflow, *, command: int | None = None) -> None:
        """Swap what is not started for other tasks; what is done or in flight stays.

        Is merged with how the run stands when it takes effect; refused with the code
        `invalid_workflow` if it no longer fits then. A run that stopped at a decision point goes
        on; one that somebody paused stays paused.
        """
        self._tell(partial(self._replan, new, command))

    def decided(
        self, task: str, item: int, approval: UUID, *, approved: bool, code: str = ""
    ) -> None:
        """Take a person's decision about a call that waits for it.

        Args:
            task: Id of the task.
            item: Place in its list.
            approval: Primary key of the approval.
            approved: Whether the call may be made.
            code: Why not: `approval_rejected` or `approval_expired`.
        """
        refusal = "" if approved else code or "approval_rejected"
        place = (task, item)
        self._tell(lambda at: self._state.decide(place, approval, at, refusal=refusal))

    def halt(self) -> None:
        """Start nothing more from now on; calls in flight go on to their end."""
        self._is_halted = True
        self._wake.set()

    # What `run` does.

    async def _carry_on(self, group: asyncio.TaskGroup) -> RunStatus:
        now = self._means.clock()
        self._state.open(now)
        if self._standing.status is RunStatus.RUNNING:
            self._state.draft.event(events.RUN_ADOPTED, now)
        await self._recall()
        self._state.reopen_lists(now)
        if self._standing.status in (RunStatus.QUEUED, RunStatus.RUNNING):
            self._state.schedule.open_next()
        while True:
            self._wake.clear()
            self._take_in()
            await self._recall()
            begun = self._begin_ready()
            status = self._settle(is_busy=bool(self._calls) or bool(begun))
            await self._write(begun, group)
            if not self._inbox and not self._calls and (self._is_halted or status.is_at_rest):
                return RunStatus.RUNNING if self._is_halted and not status.is_at_rest else status
            await self._wake.wait()

    def _take_in(self) -> None:
        at = self._means.clock()
        while self._inbox:
            self._inbox.popleft()(at)

    async def _recall(self) -> None:
        """Fetch the results that open tasks refer to and that are not in memory."""
        if not self._must_recall:
            return
        self._must_recall = False
        tasks = self._state.missing() if self._means.recall else ()
        if tasks and self._means.recall:
            self._state.recalled(await self._means.recall(tasks), tasks)

    @property
    def _may_start(self) -> bool:
        return not (self._is_paused or self._is_halted or self._called_off)

    def _begin_ready(self) -> list[Begun]:
        """Begin as many calls as may start and have a slot."""
        begun: list[Begun] = []
        at = self._means.clock()
        while self._may_start:
            self._state.make_ready(at)
            waiting = [(server, queue) for server, queue in self._state.queues.items() if queue]
            if not any([self._begin_at(server, queue, begun, at) for server, queue in waiting]):
                break
        self._calls.settle_slots(self._state.queues if self._may_start else {})
        return begun

    def _begin_at(
        self, server: str, queue: deque[Place], begun: list[Begun], at: datetime
    ) -> bool:
        """Begin calls to one server; say whether anything came of it."""
        has_moved = False
        while queue and self._calls.take_slot(server):
            has_moved = True
            one = self._state.begin(queue.popleft(), at)
            if one is None:
                self._calls.give_back(server)
            else:
                begun.append(one)
        return has_moved

    async def _write(self, begun: Sequence[Begun], group: asyncio.TaskGroup) -> None:
        """Write down what has changed, intents with it, and make the calls then.

        An approval is used up in a write of its own: if it cannot be, only its call fails.
        """
        draft = self._state.draft
        for one in begun:
            if one.leave is None:
                draft.task(one.intent, events.TASK_STARTED)
        changes = draft.take()
        if changes is not None:
            await self._means.journal.record(changes)
        for one in begun:
            if one.leave is not None:
                await self._write_approved(one, group)
            else:
                self._launch(one, group)

    async def _write_approved(self, one: Begun, group: asyncio.TaskGroup) -> None:
        changes = self._state.draft.alone(one.intent, events.TASK_STARTED)
        try:
            await self._means.journal.record(changes)
        except NotApproved:
            self._state.draft.refused(changes)
            self._calls.drop(one)
            why = failure.of_error(ApprovalUnusable())
            self._tell(lambda at: self._state.fail_unsent((one.task.id, one.item), why, at))
        else:
            self._launch(one, group)
