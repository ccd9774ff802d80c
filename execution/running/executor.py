"""Carries a run on: starts what is ready, writes down what happens, until the run is at rest."""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import datetime
from functools import partial
from uuid import UUID

from execution import events
from execution.changes import Fenced
from execution.codes import APPROVAL_REJECTED
from execution.running import failure, reported_status
from execution.running.dispatch import Dispatcher, Happening
from execution.running.failure import CallCancelled
from execution.running.gather import Gathering
from execution.running.in_flight import READ_AT_A_TIME, Calls, Outcome
from execution.running.results import Root
from execution.running.run_state import RunState
from execution.running.standing import (
    Answered,
    Invocation,
    Means,
    Place,
    Standing,
    TaskStanding,
)
from execution.running.steering import Steering
from execution.status import RunStatus
from execution.workflow import Workflow

__all__ = ["Answered", "Execution", "Invocation", "Means", "Place", "Standing", "TaskStanding"]


class Execution:
    """One run, while this process holds it.

    All methods belong to the thread of the event loop; what they are told takes effect, and is
    written down, by `run`. They may be called before it. What comes after `run` has returned has
    no effect here: its command stays open in the database, and whoever takes the run finds it.

    `command` is the primary key of the command that a method carries out; it is marked as applied
    in the transaction that writes its effect down, with `done` or the code of a refusal.

    It goes on in steps, one at a time: what is new is taken in, what may start is begun, and both
    are written down. What happens meanwhile goes into the next, so that the end of a call and the
    intents that follow from it share a transaction; and a call is made only once its intent is
    safe. Steps are taken by the task of `run`, or by that of a call which ended alone.
    """

    def __init__(self, standing: Standing, means: Means) -> None:
        self._standing = standing
        self._means = means
        self._state = state = RunState(standing, means.prepare)
        self._group = asyncio.TaskGroup()
        self._wake = asyncio.Event()
        self._gathering = Gathering(self._wake, means.gather_s)
        self._calls = calls = Calls(
            means,
            self._group,
            on_ended=self._ended,
            on_news=self._tell_news,
            go_on=self._go_on_from_call,
            wanted=state.roots.users,
        )
        self._inbox: deque[Happening] = deque()
        self._has_news = True
        self._is_going_on = False
        self._is_cut = False
        self._over: RunStatus | None = None
        self._broken: Exception | None = None
        self._steering = Steering(state, standing.status, cancel_calls=calls.cancel)
        self._dispatcher = Dispatcher(state, self._steering, calls, means, tell=self._tell)

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
        self._calls.open()
        try:
            async with self._group:
                try:
                    return await self._carry_on()
                except Fenced as error:
                    self._broken = fenced = error
                    self._calls.cancel()
        finally:
            self._calls.close()
            if deadline is not None:
                deadline.cancel()
        raise fenced

    def pause(self, *, command: int | None = None) -> None:
        """Start nothing more; calls in flight go on to their end."""
        self._tell(partial(self._steering.pause, command))

    def resume(self, *, command: int | None = None, rerun_unknown: bool = False) -> None:
        """Go on after a pause.

        Args:
            command: That this carries out.
            rerun_unknown: Whether calls of which nobody knows how they ended are made again; only
                ever because a person chose so.
        """
        self._tell(partial(self._steering.resume, command, rerun_unknown))

    def go_on(self, *, command: int | None = None) -> None:
        """Start the next layer, after the last one was looked at."""
        self._tell(partial(self._steering.resume, command, False))

    def abort(self, *, command: int | None = None) -> None:
        """End the run: cancel the calls in flight, start nothing more."""
        self._steering.call_off(reported_status.ABORTED)
        self._tell(partial(self._steering.abort, command))

    def replan(self, new: Workflow, *, command: int | None = None) -> None:
        """Swap what is not started for other tasks; what is done or in flight stays.

        Is merged with how the run stands when it takes effect; refused with the code
        `invalid_workflow` if it no longer fits then. A run that stopped at a decision point goes
        on; one that somebody paused stays paused.
        """
        self._tell(partial(self._steering.replan, new, command))

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
        refusal = "" if approved else code or APPROVAL_REJECTED
        place = (task, item)
        self._tell(lambda at: self._state.decide(place, approval, at, refusal=refusal))

    def halt(self) -> None:
        """Start nothing more from now on; calls in flight go on to their end."""
        self._steering.is_halted = True
        self._tell_news()

    def cut(self) -> None:
        """Start nothing more, and wait no longer for the calls in flight.

        They are cancelled, and their tasks stand as running, with nobody knowing how they ended.
        What has come in is written down as it is.
        """
        self._is_cut = True
        self.halt()
        self._calls.cancel()

    # What `run` does.

    async def _carry_on(self) -> RunStatus:
        now = self._means.clock()
        self._state.open(now)
        if self._standing.status is RunStatus.RUNNING:
            self._state.draft.event(events.RUN_ADOPTED, now)
        await self._recall()
        self._state.reopen_lists(now)
        self._steering.open()
        while True:
            await self._go_on()
            if self._broken is not None:
                raise self._broken
            if self._over is not None:
                return self._over
            await self._wake.wait()

    async def _go_on(self) -> None:
        """Take steps until nothing is new; a task that comes meanwhile leaves it to this one."""
        self._wake.clear()
        if self._is_going_on:
            return
        self._is_going_on = True
        try:
            while self._has_news and not (self._is_at_end or self._calls.is_handed_on):
                self._has_news = False
                self._wake.clear()
                await self._step()
        finally:
            self._is_going_on = False

    async def _go_on_from_call(self) -> None:
        """Go on in the task of a call that has ended; what is left then is for `run`."""
        try:
            await self._go_on()
        except Exception as error:  # noqa: BLE001 - raised by `run`
            self._broken = error
        if self._has_news or self._is_at_end:
            self._wake.set()

    @property
    def _is_at_end(self) -> bool:
        return self._over is not None or self._broken is not None

    async def _step(self) -> None:
        """Take in what is new, begin what may start, and write both down."""
        now = self._means.clock()
        self._take_in(now)
        while self._steering.must_recall:
            await self._recall()
            self._take_in(now)
        if self._steering.is_queued:
            self._steering.start(now)
        begun = self._dispatcher.begin(now)
        has_more = self._dispatcher.has_more
        is_busy = bool(self._calls) or bool(begun)
        status = self._steering.settle(now, is_busy=is_busy or has_more)
        if await self._gathering.more(is_wanted=is_busy and not (begun or has_more)):
            self._has_news = True
            return
        await self._dispatcher.write(begun)
        if self._is_over(status):
            self._over = status
        elif has_more:
            self._has_news = True
            if not self._calls.is_handed_on:
                await asyncio.sleep(0)

    def _is_over(self, status: RunStatus) -> bool:
        """Whether there is nothing more to do here; an end is not changed by what comes late."""
        if self._calls:
            return False
        is_resting = self._steering.is_halted or status.is_at_rest
        return status.is_final or (not self._inbox and is_resting)

    def _take_in(self, at: datetime) -> None:
        while self._inbox:
            self._inbox.popleft()(at)

    async def _recall(self) -> None:
        """Fetch the results that open tasks refer to and that are not in memory."""
        self._steering.must_recall = False
        missing = sorted(self._state.missing())
        for first in range(0, len(missing), READ_AT_A_TIME):
            tasks = missing[first : first + READ_AT_A_TIME]
            given = await self._means.recall(tasks)
            self._state.recalled(given, tasks)

    def _ended(self, place: Place, outcome: Outcome, at: datetime, *, root: Root | None) -> None:
        self._inbox.append(partial(self._land, place, outcome, root, at))
        self._has_news = True

    def _land(
        self, place: Place, outcome: Outcome, root: Root | None, at: datetime, _now: datetime
    ) -> None:
        """Take into account how a call ended."""
        self._calls.landed(place)
        if outcome is None:
            if self._steering.called_off:
                self._state.cancel(place, self._steering.called_off, at)
            elif not self._is_cut:
                self._state.fail(place, failure.of_error(CallCancelled()), at)
        elif isinstance(outcome, Exception):
            self._state.fail(place, failure.of_error(outcome), at)
        elif outcome.result.is_error:
            why = failure.of_result(outcome.result.raw, outcome.duration_s * 1000)
            self._state.fail(place, why, at)
        else:
            raw, duration_ms = outcome.result.raw, outcome.duration_s * 1000
            self._state.succeed(place, raw, duration_ms, at, root)

    def _tell(self, happening: Happening) -> None:
        self._inbox.append(happening)
        self._tell_news()

    def _tell_news(self) -> None:
        self._has_news = True
        self._wake.set()

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
        self._steering.call_off(reported_status.DEADLINE)
        self._tell(self._steering.pass_deadline)
