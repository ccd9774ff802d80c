"""The runs API: callers start, watch and control runs here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from execution import control
from execution.changes import RunEvent
from execution.codes import DONE, RUN_ALREADY_ENDED
from execution.control import Action, ActionNotPossible
from execution.planning import parse
from execution.process.adopted_call import AdoptedCall, CannotAdopt, NobodyToAsk
from execution.process.background import RunProcess
from execution.process.progress_relay import ProgressRelay, ProgressReport
from execution.process.run_creation import RunCreation
from execution.process.watchers import RunWatchers, wait_for_signal
from execution.run_dependencies import RunDependencies, RunsUnavailable, run_in_database
from execution.snapshot import RunSnapshot
from execution.store import commands, leases, views
from execution.store import runs as run_store
from execution.store.commands import RunEnded
from execution.store.runs import FIRST_EPOCH, FIRST_SEQ, CreatedRun, NewRun
from execution.workflow import Workflow
from gateway_project.foundation import notify
from gateway_project.foundation.caller import Caller

if TYPE_CHECKING:
    from execution.planning.plan import Plan
    from execution.view import RunView

__all__ = [
    "Action",
    "ActionNotPossible",
    "AdoptedCall",
    "CannotAdopt",
    "CreatedRun",
    "NobodyToAsk",
    "RunDependencies",
    "Runs",
    "RunsUnavailable",
]

APPLY_WAIT_S: Final = 5.0
"""Seconds to wait for the outcome of a command."""
POLL_INTERVAL_S: Final = 2.0
"""Polling interval of waiters, since notifications may be lost."""
OUTAGE_TOLERANCE_S: Final = 30.0
"""Seconds for which followers of a run tolerate an unavailable database."""
OUTAGE_RETRY_S: Final = 0.5
EVENT_PAGE_SIZE: Final = 1_000


class Runs:
    """The runs of an installation, including those that this process executes.

    All methods work whether or not `run` is active; without it, other processes execute the runs.
    For one event loop. Methods raise `RunsUnavailable` if the database is unavailable.
    """

    CHANNELS: Final = (notify.RUNS, notify.RUN_WORK)
    """Channels for `handle_notification`."""

    def __init__(self, dependencies: RunDependencies) -> None:
        self._dependencies = dependencies
        self._watchers = RunWatchers()
        self._progress_relay = ProgressRelay()
        self._process = RunProcess(dependencies, self._watchers, self._progress_relay)

    @property
    def is_executor(self) -> bool:
        """Whether this process executes runs."""
        return self._dependencies.is_executor

    async def run(self) -> None:
        """Execute runs until cancelled, then release them, so that others continue at once.

        Returns at once if this process does not execute runs.
        """
        if self._dependencies.is_executor:
            await self._process.run()

    def make_listener(self) -> notify.NotificationListener:
        """Build a notification listener, for a process without another one."""

        async def resync() -> None:
            await self.handle_notification(None)

        return notify.NotificationListener(
            self.CHANNELS, on_event=self.handle_notification, on_resync=resync
        )

    async def handle_notification(self, event: notify.Notification | None) -> None:
        """Handle a notification; None: some may have been lost."""
        holder = self._process.holder
        if event is None:
            self._watchers.notify_all()
            if holder is not None:
                holder.notify_all()
            return
        run = UUID(event.payload)
        # Work too: a process that releases a run, and so brings it to rest, announces only that.
        self._watchers.notify(run)
        if event.channel == notify.RUN_WORK and holder is not None:
            holder.notify_run(run)

    async def start(  # noqa: PLR0913 - a run has as many properties
        self,
        caller: Caller,
        plan: Plan,
        *,
        intent: str = "",
        idempotency_key: str | None = None,
        is_direct: bool = False,
        shares_results: bool = False,
        is_followed: bool = False,
        adopts: AdoptedCall | None = None,
    ) -> CreatedRun:
        """Start a run of a valid plan, without waiting for its tasks.

        Args:
            caller: Whose run it is.
            plan: Without problems.
            intent: What it is for, in words; empty: not stated.
            idempotency_key: Of the request; None: none.
            is_direct: Whether it is a single call of a conversation.
            shares_results: Whether calls made ahead for the caller's session may answer its tasks.
            is_followed: Whether the caller will ask for `follow_progress`.
            adopts: Its only call, if that is in flight already.

        Raises:
            IdempotencyConflict: If the key was used for another request.
            CannotAdopt: If this process cannot execute the run; the call in flight goes on.
        """
        holder = self._process.holder
        if holder is not None and not holder.has_room(caller):
            holder = None
        if holder is None and adopts is not None:
            raise CannotAdopt
        new_run = NewRun(
            # The session of a direct call; any other run is a session of its own.
            caller=caller if is_direct else replace(caller, session=""),
            workflow=parse.dump(plan.workflow),
            tasks=[(task.id, task.tool) for task in plan.workflow.tasks],
            intent=intent,
            options=plan.options,
            idempotency_key=idempotency_key,
            is_direct=is_direct,
            is_delivered=adopts is not None,
            owner=holder.id if holder else "",
            lease_s=self._dependencies.lease_s,
            teaches=self._dependencies.runs_teach,
        )
        if shares_results:
            self._dependencies.speculation.share(caller, new_run.run)
        if is_followed and holder is not None:
            self._progress_relay.expect(new_run.run)
        # The requester may go away meanwhile; a stored run is executed all the same.
        creation = RunCreation(new_run, self._dependencies, is_sent=adopts is not None)
        if holder is None:
            creation.create_unclaimed()
        else:
            holder.launch(_make_initial_snapshot(new_run, plan.workflow), creation, adopts)
        return await asyncio.shield(creation.created)

    async def claim_and_execute(self, run: UUID) -> bool:
        """Claim and execute a run until it is at rest; return whether it could be claimed.

        A run whose user has used up their share of this process is left to others.

        Cancelling this does not end the run.
        """
        if self._dependencies.is_executor:
            await self._process.started.wait()
        holder = self._process.holder
        return holder is not None and await asyncio.shield(holder.claim_run(run))

    async def wait(self, caller: Caller, run: UUID, *, wait_s: float) -> RunView:
        """Return a run once it is at rest, or its current view after the wait.

        Raises:
            UnknownRun: If the caller has no such run.
        """
        try:
            async with asyncio.timeout(wait_s):
                return await self._wait_until_at_rest(caller, run)
        except TimeoutError:
            return await self.load_view(caller, run)

    async def load_view(
        self, caller: Caller, run: UUID, *, results: bool = True, workflow: bool = False
    ) -> RunView:
        """Return the current view of a run.

        Args:
            caller: The caller.
            run: Its id.
            results: Whether to include results, errors and other payloads.
            workflow: Whether to include the workflow, even without other payloads.

        Raises:
            UnknownRun: If the caller has no such run.
        """
        return await run_in_database(
            views.load_view,
            run,
            caller=caller,
            sealer=self._dependencies.sealer,
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
        """Send a command to a run, and wait briefly until it is applied.

        Commands are applied in order, once, even if that takes longer than this waits. Who aborts
        the run of a direct call gives up its outcome: the same call is a new one then.

        Args:
            caller: The caller.
            run: Its id.
            action: The command.
            workflow: For replan: replaces the rest; with canonical tool ids.
            rerun_unknown: For resume: whether to repeat calls with unknown outcomes; only ever a
                person's choice.

        Raises:
            UnknownRun: If the caller has no such run.
            ActionNotPossible: If the run's state does not allow it, now or when it is applied.
        """
        before = await self.load_view(caller, run, results=False)
        # Open commands may still change the status, so the last command must be recorded after
        # them.
        if not await run_in_database(
            commands.has_open_commands, run
        ) and not control.is_action_needed(action, before.status, rerun_unknown=rerun_unknown):
            return
        command = await self._add_command(
            caller, run, action, workflow=workflow, rerun_unknown=rerun_unknown
        )
        await self._wait_until_applied(run, command, action)
        if action is Action.ABORT:
            await run_in_database(run_store.mark_delivered, run)

    async def follow_events(
        self, caller: Caller, run: UUID, *, after: int = 0
    ) -> AsyncIterator[RunEvent]:
        """Yield a run's events after a sequence number, as they happen, until it is at rest.

        Raises:
            UnknownRun: If the caller has no such run.
        """
        await self.load_view(caller, run, results=False)
        with self._watchers.watch(run) as signal:
            while True:
                is_at_rest, events = await self._load_new_events(run, after)
                for event in events:
                    yield event
                    after = event.seq
                if len(events) == EVENT_PAGE_SIZE:
                    continue
                if is_at_rest:
                    return
                await wait_for_signal(signal, wait_s=POLL_INTERVAL_S)

    async def follow_progress(
        self, caller: Caller, run: UUID
    ) -> AsyncIterator[Sequence[ProgressReport]]:
        """Yield progress reports of a run's calls from now on, endlessly.

        Only for calls that this process makes; reports are not stored. If a call's reports arrive
        faster than they are read, only the newest is kept.

        Raises:
            UnknownRun: If the caller has no such run.
        """
        if not self._is_held_here(caller, run):
            await self.load_view(caller, run, results=False)
        with self._progress_relay.listen(run) as inbox:
            while True:
                yield await inbox.take()

    async def _load_new_events(self, run: UUID, after: int) -> tuple[bool, list[RunEvent]]:
        """Return whether a run is at rest, and its next events; tolerates a short outage."""
        give_up_at = time.monotonic() + OUTAGE_TOLERANCE_S
        while True:
            try:
                # Checked before loading events, so that the last one is not missed.
                is_at_rest = await run_in_database(leases.is_run_at_rest, run)
                events = await run_in_database(
                    views.load_events, run, after=after, limit=EVENT_PAGE_SIZE
                )
            except RunsUnavailable:
                if time.monotonic() > give_up_at:
                    raise
                await asyncio.sleep(OUTAGE_RETRY_S)
            else:
                return is_at_rest, events

    async def _wait_until_at_rest(self, caller: Caller, run: UUID) -> RunView:
        """Wait until a run is at rest; while it is held here, without database queries."""
        with self._watchers.watch(run) as signal:
            if not self._is_held_here(caller, run):
                await self.load_view(caller, run, results=False)
            while self._is_held_here(caller, run) or not await self._is_at_rest(run):
                await wait_for_signal(signal, wait_s=POLL_INTERVAL_S)
        return await self.load_view(caller, run)

    def _is_held_here(self, caller: Caller, run: UUID) -> bool:
        holder = self._process.holder
        caller_here = holder.find_caller(run) if holder is not None else None
        return (
            caller_here is not None
            and (caller_here.user, caller_here.team) == (caller.user, caller.team)
            and caller.group in (None, caller_here.group)
        )

    async def _is_at_rest(self, run: UUID) -> bool:
        try:
            return await run_in_database(leases.is_run_at_rest, run)
        except RunsUnavailable:  # it may be back before the time is up
            return False

    async def _add_command(
        self,
        caller: Caller,
        run: UUID,
        action: Action,
        *,
        workflow: Workflow | None,
        rerun_unknown: bool,
    ) -> int:
        """Store a command and notify the run; return its primary key."""
        try:
            command = await run_in_database(
                commands.add_command,
                run,
                action.value,
                caller=caller,
                sealer=self._dependencies.sealer,
                workflow=None if workflow is None else parse.dump(workflow),
                detail={"rerun_unknown": True} if rerun_unknown else None,
            )
        except RunEnded as error:
            raise control.build_impossible_error(action, error.status) from None
        holder = self._process.holder
        if holder is not None:
            holder.notify_run(run)
        return command

    async def _wait_until_applied(self, run: UUID, command: int, action: Action) -> None:
        """Wait a while until a command is applied.

        Raises:
            ActionNotPossible: If it was refused then.
        """
        give_up_at = time.monotonic() + APPLY_WAIT_S
        with self._watchers.watch(run) as signal:
            while (outcome := await run_in_database(commands.load_outcome, command)) is None:
                left_s = give_up_at - time.monotonic()
                if left_s <= 0:
                    return
                await wait_for_signal(signal, wait_s=min(left_s, POLL_INTERVAL_S))
        if outcome == RUN_ALREADY_ENDED:
            control.is_action_needed(action, await run_in_database(views.load_status, run))
        elif outcome != DONE:
            raise control.build_refused_error(action, outcome)


def _make_initial_snapshot(new_run: NewRun, workflow: Workflow) -> RunSnapshot:
    deadline_s = new_run.options.deadline_s
    return RunSnapshot(
        run=new_run.run,
        caller=new_run.caller,
        epoch=FIRST_EPOCH,
        last_seq=FIRST_SEQ,
        workflow=workflow,
        options=new_run.options,
        deadline_at=None
        if deadline_s is None
        else datetime.now(UTC) + timedelta(seconds=deadline_s),
    )
