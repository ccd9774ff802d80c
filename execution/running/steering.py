"""What a run is told while it is carried on, and how it stands by that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from execution import events
from execution.codes import DONE
from execution.planning.parse import InvalidWorkflow
from execution.running import reported_status, revising
from execution.running.run_state import RunState
from execution.status import RunStatus, TaskStatus
from execution.workflow import Workflow


class Steering:
    """Carries out what a run is told, and says how it stands.

    `command` is the primary key of the command that a method carries out.

    Args:
        state: Of the run.
        status: That it was taken with.
        cancel_calls: Cancels the calls in flight.
    """

    def __init__(
        self, state: RunState, status: RunStatus, *, cancel_calls: Callable[[], None]
    ) -> None:
        self.is_halted = False
        """Whether this process starts nothing more."""
        self.called_off = ""
        """Why the run ends early; empty: it does not."""
        self.must_recall = True
        """Whether results may have to be brought back."""
        self.is_queued = status is RunStatus.QUEUED
        """Whether nothing was told of it yet."""
        self._state = state
        self._cancel_calls = cancel_calls
        self._told = reported_status.Told(status)
        self._is_paused = status is RunStatus.PAUSED
        self._aborts: list[int | None] = []

    @property
    def may_start(self) -> bool:
        """Whether calls may be begun."""
        return not (self._is_paused or self.is_halted or self.called_off)

    def open(self) -> None:
        """Take into account where the run stopped before."""
        if self._is_paused:
            self._told.is_at_layer = self._state.schedule.is_layer_complete
        else:
            self._state.schedule.open_next()

    def start(self, at: datetime) -> None:
        """Note that a run begins which waited for a process."""
        self.is_queued = self._told.status is RunStatus.QUEUED
        if self.is_queued and self.may_start:
            self._told.tell(self._state, reported_status.Outlook(RunStatus.RUNNING), "", at)

    def settle(self, at: datetime, *, is_busy: bool) -> RunStatus:
        """Return how the run stands, and note it if that has changed.

        Args:
            at: When.
            is_busy: Whether calls are in flight, or about to be.
        """
        if is_busy and self._told.status is RunStatus.RUNNING and not self._is_paused:
            return RunStatus.RUNNING
        found = reported_status.outlook(
            self._state,
            is_busy=is_busy,
            is_paused=self._is_paused,
            is_halted=self.is_halted,
            called_off=self.called_off,
        )
        for command in self._aborts if found.status.is_final else ():
            self._state.draft.applied(command, DONE)
        self._told.settle(self._state, found, self.called_off, at)
        self._is_paused = self._is_paused or found.is_at_layer
        return found.status

    def pause(self, command: int | None, _at: datetime) -> None:
        """Start nothing more."""
        self._is_paused = True
        self._state.draft.applied(command, DONE)

    def resume(self, command: int | None, rerun_unknown: bool, at: datetime) -> None:
        """Go on after a pause, or with the next layer."""
        if rerun_unknown and not self.called_off:
            revising.rerun_unknown(self._state, at)
        self._leave_layer()
        self._is_paused = False
        self._state.draft.applied(command, DONE)

    def replan(self, new: Workflow, command: int | None, at: datetime) -> None:
        """Put other tasks in the place of those that have not begun, if they fit."""
        if self.called_off:  # the end of the run closes the command
            return
        try:
            revising.replan(self._state, new, at)
        except InvalidWorkflow as error:
            self._state.draft.applied(command, error.code)
            self._told_of("replan", error.code, at)
            return
        self.must_recall = True
        self._leave_layer()
        self._state.draft.applied(command, DONE)

    def abort(self, command: int | None, at: datetime) -> None:
        """Call the run off; the command is carried out once the run has ended.

        Until then it stays open, so that whoever takes the run over does not go on with it.
        """
        self._aborts.append(command)
        self._told_of("abort", DONE, at)
        revising.call_off(self._state, TaskStatus.CANCELLED, at, code=reported_status.ABORTED)

    def pass_deadline(self, at: datetime) -> None:
        """End the run, since its time is up."""
        revising.call_off(self._state, TaskStatus.SKIPPED, at, code=reported_status.DEADLINE)

    def call_off(self, why: str) -> None:
        """Let the calls in flight be cancelled, at once, even while the database is away."""
        if not self.called_off:
            self.called_off = why
            self._cancel_calls()

    def _leave_layer(self) -> None:
        """Open the next layer if the run stopped at the end of one."""
        if self._told.is_at_layer:
            self._told.is_at_layer = self._is_paused = False
            self._state.schedule.open_next()

    def _told_of(self, action: str, outcome: str, at: datetime) -> None:
        """Write down that a command was carried out, or refused, of which no other event tells."""
        data = {"action": action, "outcome": outcome}
        self._state.draft.event(events.COMMAND_APPLIED, at, data)
