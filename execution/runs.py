"""Runs of workflows, as callers start, watch and control them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from execution import control
from execution.changes import Event
from execution.codes import DONE, RUN_OVER
from execution.control import Action, NotPossible
from execution.planning import parse
from execution.process.background import RunProcess
from execution.process.opening import Opening
from execution.process.reports import Report, Reports
from execution.process.watchers import Watchers, awaited
from execution.run_means import RunMeans, RunsUnavailable, reached
from execution.running.standing import Standing
from execution.store import commands, leases, views
from execution.store.commands import RunOver
from execution.store.runs import FIRST_EPOCH, FIRST_SEQ, NewRun
from execution.workflow import Options, Workflow
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller

if TYPE_CHECKING:
    from execution.planning.plan import Plan
    from execution.view import RunView

__all__ = ["Action", "NotPossible", "RunMeans", "Runs", "RunsUnavailable", "Started"]

APPLY_WAIT_S: Final = 5.0
"""So long whoever tells a run something waits to hear what came of it."""
LOOK_AGAIN_S: Final = 2.0
"""Whoever waits looks for themselves so often: a notification may be lost."""
AWAY_S: Final = 30.0
"""So long whoever follows a run bears with the database being away."""
AWAY_RETRY_S: Final = 0.5
EVENTS_AT_ONCE: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class Started:
    """A run that was asked for.

    Attributes:
        run: Its id.
        is_new: Whether this started it; False: one of the same idempotency key was there.
    """

    run: UUID
    is_new: bool


class Runs:
    """The runs of an installation, and those among them that this process carries out.

    Every method may be used while `run` is under way, or where it is not: then others carry runs
    out. For one event loop. Methods raise `RunsUnavailable` where the database is away.
    """

    CHANNELS: Final = (notify.RUNS, notify.RUN_WORK)
    """What `told` wants to be told of."""

    def __init__(self, means: RunMeans) -> None:
        self._means = means
        self._watchers = Watchers()
        self._reports = Reports()
        self._process = RunProcess(means, self._watchers, self._reports)

    @property
    def executes(self) -> bool:
        """Whether this process carries out runs."""
        return self._means.executes

    async def run(self) -> None:
        """Carry out runs until cancelled; then let go of them, so that others go on at once.

        Where this process is not to carry out any, nothing is done.
        """
        if self._means.executes:
            await self._process.run()

    def listener(self) -> notify.Listener:
        """Return what tells of changes, for a process that listens to nothing else."""

        async def resync() -> None:
            await self.told(None)

        return notify.Listener(self.CHANNELS, on_event=self.told, on_resync=resync)

    async def told(self, event: notify.Event | None) -> None:
        """Take note of a notification; None: some may have been lost."""
        holder = self._process.holder
        if event is None:
            self._watchers.tell_all()
            if holder is not None:
                holder.tell_all()
            return
        run = UUID(event.payload)
        if event.channel == notify.RUNS:
            self._watchers.tell(run)
        elif holder is not None:
            holder.tell(run)

    async def start(
        self,
        caller: Caller,
        plan: Plan,
        *,
        intent: str = "",
        options: Options,
        idempotency_key: str | None = None,
        is_direct: bool = False,
    ) -> Started:
        """Start a run of a plan without problems; it waits for none of its tasks.

        Raises:
            IdempotencyConflict: If the key stands for another request.
        """
        holder = self._process.holder
        if holder is not None and not holder.has_room(caller):
            holder = None
        new = NewRun(
            caller=caller,
            workflow=parse.dump(plan.workflow),
            tasks=[(task.id, task.tool) for task in plan.workflow.tasks],
            intent=intent,
            options=options,
            idempotency_key=idempotency_key,
            is_direct=is_direct,
            owner=holder.id if holder else "",
            lease_s=self._means.lease_s,
        )
        # Whoever asks may go away meanwhile; what is written down is carried out all the same.
        opening = Opening(new, self._means)
        if holder is None:
            opening.leave()
        else:
            holder.launch(_from_the_start(new, plan.workflow), caller, opening)
        created = await asyncio.shield(opening.made)
        return Started(run=created.run, is_new=created.is_new)

    async def take(self, run: UUID) -> bool:
        """Carry out a run until it is at rest; say whether it was there to be taken.

        One whose user has their share of this process is left to whoever has room.

        Cancelling this does not end the run.
        """
        if self._means.executes:
            await self._process.started.wait()
        holder = self._process.holder
        return holder is not None and await asyncio.shield(holder.take(run))

    async def wait(self, caller: Caller, run: UUID, *, wait_s: float) -> RunView:
        """Return a run once it is at rest, or as it stands when the time is up.

        Raises:
            UnknownRun: If the caller has no such run.
        """
        try:
            async with asyncio.timeout(wait_s):
                return await self._at_rest(caller, run)
        except TimeoutError:
            return await self.view(caller, run)

    async def view(
        self, caller: Caller, run: UUID, *, results: bool = True, workflow: bool = False
    ) -> RunView:
        """Return a run as it stands.

        Args:
            caller: Who asks.
            run: Its id.
            results: Whether with what was given and answered.
            workflow: Whether with what it is to do, though with nothing else of that.

        Raises:
            UnknownRun: If the caller has no such run.
        """
        return await reached(
            views.view,
            run,
            caller=caller,
            sealer=self._means.sealer,
            results=results,
            workflow=workflow,
        )

    async def control(
        self,
        caller: Caller,
        run: UUID,
        action: Action,
        *,
        workflow: Workflow | None = None,
        rerun_unknown: bool = False,
    ) -> None:
        """Tell a run what to do, and wait a little until it has taken note.

        What is told is carried out in order, once, also if that takes longer than this waits.

        Args:
            caller: Who tells it.
            run: Its id.
            action: What it is told.
            workflow: What replaces the rest of it, for a replan; tools by canonical id.
            rerun_unknown: For resume: whether calls of which nobody knows how they ended are made
                again. Only ever a person's choice.

        Raises:
            UnknownRun: If the caller has no such run.
            NotPossible: If it is in no state to do that, or was not when its turn came.
        """
        before = await self.view(caller, run, results=False)
        # What it was told before and has not done yet may change how it stands: who comes last
        # has the last word.
        if not await reached(commands.are_open, run) and not control.is_needed(
            action, before.status, rerun_unknown=rerun_unknown
        ):
            return
        command = await self._add(
            caller, run, action, workflow=workflow, rerun_unknown=rerun_unknown
        )
        await self._applied(run, command, action)

    async def follow(self, caller: Caller, run: UUID, *, after: int = 0) -> AsyncIterator[Event]:
        """Yield the events of a run that follow one, as they happen, until it is at rest.

        Raises:
            UnknownRun: If the caller has no such run.
        """
        await self.view(caller, run, results=False)
        with self._watchers.watch(run) as news:
            while True:
                is_at_rest, events = await self._news(run, after)
                for event in events:
                    yield event
                    after = event.seq
                if len(events) == EVENTS_AT_ONCE:
                    continue
                if is_at_rest:
                    return
                await awaited(news, wait_s=LOOK_AGAIN_S)

    async def reports(self, caller: Caller, run: UUID) -> AsyncIterator[Sequence[Report]]:
        """Yield what servers report of a run's calls from now on, without end.

        Only of calls that this process makes: nothing of it is written down. Of a call whose
        reports come faster than they are taken, only the newest is.

        Raises:
            UnknownRun: If the caller has no such run.
        """
        if not self._is_here(caller, run):
            await self.view(caller, run, results=False)
        with self._reports.listen(run) as inbox:
            while True:
                yield await inbox.take()

    async def _news(self, run: UUID, after: int) -> tuple[bool, list[Event]]:
        """Return whether a run is at rest, and its next events; bears with a short absence."""
        give_up_at = time.monotonic() + AWAY_S
        while True:
            try:
                # Asked before its events, so that the last of them is not missed.
                is_at_rest = await reached(leases.is_idle, run)
                events = await reached(views.events, run, after=after, limit=EVENTS_AT_ONCE)
            except RunsUnavailable:
                if time.monotonic() > give_up_at:
                    raise
                await asyncio.sleep(AWAY_RETRY_S)
            else:
                return is_at_rest, events

    async def _at_rest(self, caller: Caller, run: UUID) -> RunView:
        """Return a run at rest; while it is carried out here, nobody else is asked."""
        with self._watchers.watch(run) as news:
            if not self._is_here(caller, run):
                await self.view(caller, run, results=False)
            else:
                while self._is_here(caller, run):
                    await awaited(news, wait_s=LOOK_AGAIN_S)
                if view := news.ended or await self._ended(caller, run):
                    return view
            while self._is_here(caller, run) or not await self._is_at_rest(run):
                await awaited(news, wait_s=LOOK_AGAIN_S)
        return await self.view(caller, run)

    async def _ended(self, caller: Caller, run: UUID) -> RunView | None:
        """Return a run that has ended, as most that were here have; None: it may only rest."""
        try:
            view = await self.view(caller, run)
        except RunsUnavailable:  # it may be back before the time is up
            return None
        return view if view.status.is_final else None

    def _is_here(self, caller: Caller, run: UUID) -> bool:
        holder = self._process.holder
        mine = holder.caller_of(run) if holder is not None else None
        return mine is not None and (mine.user, mine.team) == (caller.user, caller.team)

    async def _is_at_rest(self, run: UUID) -> bool:
        try:
            return await reached(leases.is_idle, run)
        except RunsUnavailable:  # it may be back before the time is up
            return False

    async def _add(
        self,
        caller: Caller,
        run: UUID,
        action: Action,
        *,
        workflow: Workflow | None,
        rerun_unknown: bool,
    ) -> int:
        """Write a command down and have the run look at it; return its primary key."""
        try:
            command = await reached(
                commands.add,
                run,
                action.value,
                caller=caller,
                sealer=self._means.sealer,
                workflow=None if workflow is None else parse.dump(workflow),
                detail={"rerun_unknown": True} if rerun_unknown else None,
            )
        except RunOver as over:
            raise control.not_possible(action, over.status) from None
        holder = self._process.holder
        if holder is not None:
            holder.tell(run)
        return command

    async def _applied(self, run: UUID, command: int, action: Action) -> None:
        """Wait a while until a command is carried out.

        Raises:
            NotPossible: If it was refused then.
        """
        give_up_at = time.monotonic() + APPLY_WAIT_S
        with self._watchers.watch(run) as news:
            while (outcome := await reached(commands.outcome, command)) is None:
                left_s = give_up_at - time.monotonic()
                if left_s <= 0:
                    return
                await awaited(news, wait_s=min(left_s, LOOK_AGAIN_S))
        if outcome == RUN_OVER:
            control.is_needed(action, await reached(views.status, run))
        elif outcome != DONE:
            raise control.refused(action, outcome)


def _from_the_start(new: NewRun, workflow: Workflow) -> Standing:
    deadline_s = new.options.deadline_s
    return Standing(
        run=new.run,
        epoch=FIRST_EPOCH,
        last_seq=FIRST_SEQ,
        workflow=workflow,
        options=new.options,
        deadline_at=None
        if deadline_s is None
        else datetime.now(UTC) + timedelta(seconds=deadline_s),
    )
