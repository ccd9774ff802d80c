"""Carries a run on: starts what is ready, writes down what happens, until the run is at rest."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from execution import events
from execution.changes import Fenced, NotApproved
from execution.planning.parse import InvalidWorkflow
from execution.running import failure, outlook
from execution.running.calls import Calls, Outcome
from execution.running.failure import ApprovalUnusable, CallCancelled
from execution.running.gathering import Gathering
from execution.running.run_state import RunState
from execution.running.standing import Answered, Invocation, Means, Place, Standing, TaskStanding
from execution.running.task_changes import Begun
from execution.status import RunStatus, TaskStatus
from execution.workflow import Workflow

__all__ = ["Answered", "Execution", "Invocation", "Means", "Place", "Standing", "TaskStanding"]

DONE: Final = "done"


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
        self._gathering = Gathering(self._wake, means.gather_s)
        self._calls = Calls(means, on_ended=self._ended, on_room=self._wake.set)
        self._inbox: deque[Callable[[datetime], None]] = deque()
        self._told = outlook.Told(standing.status)
        self._is_paused = standing.status is RunStatus.PAUSED
        self._is_halted = False
        self._called_off = ""
        self._aborts: list[int | None] = []
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
        self._call_off(outlook.ABORTED)
        self._tell(partial(self._abort, command))

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
        if self._is_paused:
            self._told.is_at_layer = self._state.schedule.is_layer_complete
        else:
            self._state.schedule.open_next()
        while True:
            self._wake.clear()
            now = self._means.clock()
            self._take_in(now)
            while self._must_recall:
                await self._recall()
                self._take_in(now)
            if self._told.status is RunStatus.QUEUED and self._may_start:
                self._told.tell(self._state, outlook.Outlook(RunStatus.RUNNING), "", now)
            begun = self._begin_ready(now)
            status = self._settle(now, is_busy=bool(self._calls) or bool(begun))
            if await self._gathering.more(is_wanted=bool(self._calls) and not begun):
                continue
            await self._write(begun, group)
            if self._is_over(status):
                return status
            await self._wake.wait()

    def _is_over(self, status: RunStatus) -> bool:
        """Whether there is nothing more to do here; an end is not changed by what comes late."""
        if self._calls:
            return False
        return status.is_final or (not self._inbox and (self._is_halted or status.is_at_rest))

    def _take_in(self, at: datetime) -> None:
        while self._inbox:
            self._inbox.popleft()(at)

    async def _recall(self) -> None:
        """Fetch the results that open tasks refer to and that are not in memory."""
        self._must_recall = False
        tasks = self._state.missing() if self._means.recall else ()
        if tasks and self._means.recall:
            self._state.recalled(await self._means.recall(tasks), tasks)

    @property
    def _may_start(self) -> bool:
        return not (self._is_paused or self._is_halted or self._called_off)

    def _begin_ready(self, at: datetime) -> list[Begun]:
        """Begin as many calls as may start and have a slot."""
        begun: list[Begun] = []
        if not self._may_start:
            self._calls.keep_slots({})
            return begun
        state, has_moved = self._state, True
        while has_moved:
            state.make_ready(at)
            has_moved = False
            for server in tuple(state.queues):
                has_moved |= self._begin_at(server, begun, at)
        self._calls.keep_slots(state.queues)
        return begun

    def _begin_at(self, server: str, begun: list[Begun], at: datetime) -> bool:
        """Begin calls to one server; say whether more may have become ready by that."""
        has_moved = False
        queue = self._state.queues.get(server)
        while queue and self._calls.take_slot(server):
            one = self._state.begin(queue.popleft(), at)
            if one is not None:
                begun.append(one)
                continue
            self._calls.give_back(server)
            has_moved = True
            queue = self._state.queues.get(server)
        if not queue:
            self._state.queues.pop(server, None)
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
            self._calls.give_back(one.server)
            why = failure.of_error(ApprovalUnusable())
            self._tell(lambda at: self._state.fail_unsent(one.place, why, at))
        else:
            self._launch(one, group)

    def _launch(self, one: Begun, group: asyncio.TaskGroup) -> None:
        """Make a call, unless it is not wanted any more by now."""
        if self._called_off:
            self._calls.give_back(one.server)
            self._tell(lambda at: self._state.cancel(one.place, self._called_off, at))
        elif self._is_halted:
            self._calls.give_back(one.server)
            self._tell(lambda at: self._state.take_back(one.place, at))
        else:
            self._calls.launch(group, self._invocation(one), one.server)

    def _invocation(self, one: Begun) -> Invocation:
        task, item = one.place
        return Invocation(
            task=task,
            item=item,
            tool=one.task.tool,
            arguments=one.arguments,
            timeout_s=one.task.timeout_s,
            leave=one.leave,
            on_retry=partial(self._retried, one.place),
            on_progress=partial(self._means.on_progress, task, item),
        )

    def _retried(self, place: Place, attempt: int, error: BaseException) -> None:
        self._state.count_attempt(place)
        code = failure.of_error(error).code
        data = {"attempt": attempt, "code": code}
        at = self._means.clock()
        self._state.draft.event(events.TASK_RETRIED, at, data, task=place[0], item=place[1])
        self._wake.set()

    def _ended(self, place: Place, outcome: Outcome, at: datetime) -> None:
        self._inbox.append(partial(self._land, place, outcome, at))
        self._wake.set()

    def _land(self, place: Place, outcome: Outcome, at: datetime, _now: datetime) -> None:
        """Take into account how a call ended."""
        self._calls.landed(place)
        if outcome is None:
            if self._called_off:
                self._state.cancel(place, self._called_off, at)
            else:
                self._state.fail(place, failure.of_error(CallCancelled()), at)
        elif isinstance(outcome, Exception):
            self._state.fail(place, failure.of_error(outcome), at)
        elif outcome.result.is_error:
            why = failure.of_result(outcome.result.raw, outcome.duration_s * 1000)
            self._state.fail(place, why, at)
        else:
            self._state.succeed(place, outcome.result.raw, outcome.duration_s * 1000, at)

    # What a run is told.

    def _tell(self, happening: Callable[[datetime], None]) -> None:
        self._inbox.append(happening)
        self._wake.set()

    def _pause(self, command: int | None, _at: datetime) -> None:
        self._is_paused = True
        self._state.draft.applied(command, DONE)

    def _resume(self, command: int | None, rerun_unknown: bool, at: datetime) -> None:
        if rerun_unknown and not self._called_off:
            self._state.rerun_unknown(at)
        self._leave_layer()
        self._is_paused = False
        self._state.draft.applied(command, DONE)

    def _leave_layer(self) -> None:
        """Open the next layer if the run stopped at the end of one."""
        if self._told.is_at_layer:
            self._told.is_at_layer = self._is_paused = False
            self._state.schedule.open_next()

    def _replan(self, new: Workflow, command: int | None, at: datetime) -> None:
        if self._called_off:  # the end of the run closes the command
            return
        try:
            self._state.replan(new, at)
        except InvalidWorkflow as error:
            self._state.draft.applied(command, error.code)
            self._told_of("replan", error.code, at)
            return
        self._must_recall = True
        self._leave_layer()
        self._state.draft.applied(command, DONE)

    def _told_of(self, action: str, outcome: str, at: datetime) -> None:
        """Write down that a command was carried out, or refused, of which no other event tells."""
        data = {"action": action, "outcome": outcome}
        self._state.draft.event(events.COMMAND_APPLIED, at, data)

    def _abort(self, command: int | None, at: datetime) -> None:
        """Call the run off; the command is carried out once the run has ended.

        Until then it stays open, so that whoever takes the run over does not go on with it.
        """
        self._aborts.append(command)
        self._told_of("abort", DONE, at)
        self._state.call_off(TaskStatus.CANCELLED, at)

    def _call_off(self, why: str) -> None:
        """Let the calls in flight be cancelled, at once, even while the database is away."""
        if not self._called_off:
            self._called_off = why
            self._calls.cancel()

    def _set_deadline(self) -> asyncio.TimerHandle | None:
        """Have the run end in time, by a clock that nobody sets."""
        if self._standing.deadline_at is None:
            return None
        left_s = (self._standing.deadline_at - self._means.clock()).total_seconds()
        if left_s <= 0:
            self._pass_deadline()
            return None
        return asyncio.get_running_loop().call_later(left_s, self._pass_deadline)

    def _pass_deadline(self) -> None:
        self._call_off(outlook.DEADLINE)
        self._tell(partial(self._state.call_off, TaskStatus.SKIPPED))

    def _settle(self, at: datetime, *, is_busy: bool) -> RunStatus:
        """Return how the run stands, and note it if that has changed."""
        if is_busy and self._told.status is RunStatus.RUNNING and not self._is_paused:
            return RunStatus.RUNNING
        found = outlook.outlook(
            self._state,
            is_busy=is_busy,
            is_paused=self._is_paused,
            is_halted=self._is_halted,
            called_off=self._called_off,
        )
        for command in self._aborts if found.status.is_final else ():
            self._state.draft.applied(command, DONE)
        self._told.settle(self._state, found, self._called_off, at)
        self._is_paused = self._is_paused or found.is_at_layer
        return found.status
