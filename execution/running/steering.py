"""Steers a run: applies commands and deadlines, and derives its status."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from execution import events
from execution.codes import DONE
from execution.planning.parse import InvalidWorkflow
from execution.running import reported_status, revising
from execution.running.reported_status import RunOutlook
from execution.running.run_state import RunState
from execution.status import RunStatus, TaskStatus
from execution.workflow import Workflow


class RunController:
    """Applies commands to a run and reports its status.

    `command` is the primary key of the command being carried out.

    Args:
        state: State of the run.
        status: Status when it was claimed.
        cancel_calls: Cancels the calls in flight.
    """

    def __init__(
        self, state: RunState, status: RunStatus, *, cancel_calls: Callable[[], None]
    ) -> None:
        self.is_halted = False
        """Whether this process starts no more calls."""
        self.cancel_reason = ""
        """Why the run is ending early; empty: it is not."""
        self.must_reload_results = True
        """Whether results may have to be reloaded."""
        self.is_queued = status is RunStatus.QUEUED
        """Whether its start has not been reported yet."""
        self._state = state
        self._cancel_calls = cancel_calls
        self._reported = RunOutlook(status)
        self._is_paused = status is RunStatus.PAUSED
        self._abort_commands: list[int | None] = []

    @property
    def can_start(self) -> bool:
        """Whether calls may be begun."""
        return not (self._is_paused or self.is_halted or self.cancel_reason)

    def restore_layer(self) -> None:
        """Restore the open layer from the state of the tasks."""
        if self._is_paused:
            self._reported = self._reported._replace(
                is_at_layer_end=self._state.schedule.is_layer_complete
            )
        else:
            self._state.schedule.open_next_layer()

    def note_started(self, at: datetime) -> None:
        """Report the start of a queued run."""
        self.is_queued = self._reported.status is RunStatus.QUEUED
        if self.is_queued and self.can_start:
            self._report(RunOutlook(RunStatus.RUNNING), at)

    def settle_status(self, at: datetime, *, is_busy: bool) -> RunStatus:
        """Derive the run's status, and report it if it has changed.

        Args:
            at: When.
            is_busy: Whether calls are in flight or about to be.
        """
        if is_busy and self._reported.status is RunStatus.RUNNING and not self._is_paused:
            return RunStatus.RUNNING
        outlook = reported_status.derive_outlook(
            self._state,
            is_busy=is_busy,
            is_paused=self._is_paused,
            is_halted=self.is_halted,
            cancel_reason=self.cancel_reason,
        )
        for command in self._abort_commands if outlook.status.is_final else ():
            self._state.pending_changes.add_applied_command(command, DONE)
        if outlook.status is not self._reported.status or (
            outlook.is_at_layer_end and not self._reported.is_at_layer_end
        ):
            self._report(outlook, at)
        self._reported = outlook
        self._is_paused = self._is_paused or outlook.is_at_layer_end
        return outlook.status

    def pause(self, command: int | None, _at: datetime) -> None:
        """Start no more calls."""
        self._is_paused = True
        self._state.pending_changes.add_applied_command(command, DONE)

    def resume(self, command: int | None, rerun_unknown: bool, at: datetime) -> None:
        """Resume after a pause, or with the next layer."""
        if rerun_unknown and not self.cancel_reason:
            revising.rerun_unknown_calls(self._state, at)
        self._open_next_layer()
        self._is_paused = False
        self._state.pending_changes.add_applied_command(command, DONE)

    def replan(self, workflow: Workflow, command: int | None, at: datetime) -> None:
        """Replace the tasks that have not begun, if the new ones fit."""
        if self.cancel_reason:  # ending the run closes the command
            return
        try:
            revising.apply_replan(self._state, workflow, at)
        except InvalidWorkflow as error:
            self._state.pending_changes.add_applied_command(command, error.code)
            self._record_command("replan", error.code, at)
            return
        self.must_reload_results = True
        self._open_next_layer()
        self._state.pending_changes.add_applied_command(command, DONE)

    def abort(self, command: int | None, at: datetime) -> None:
        """Abort the run; the command is applied once the run has ended.

        Until then it stays open, so that a process that claims the run does not resume it.
        """
        self._abort_commands.append(command)
        self._record_command("abort", DONE, at)
        revising.cancel_pending(
            self._state, TaskStatus.CANCELLED, at, code=reported_status.ABORTED
        )

    def pass_deadline(self, at: datetime) -> None:
        """End the run because its deadline has passed."""
        revising.cancel_pending(
            self._state, TaskStatus.SKIPPED, at, code=reported_status.DEADLINE_EXCEEDED
        )

    def cancel_early(self, reason: str) -> None:
        """Cancel the calls in flight immediately, even if the database is unavailable."""
        if not self.cancel_reason:
            self.cancel_reason = reason
            self._cancel_calls()

    def _report(self, outlook: RunOutlook, at: datetime) -> None:
        reported_status.report_outlook(
            self._state,
            outlook,
            at,
            before=self._reported.status,
            cancel_reason=self.cancel_reason,
        )
        self._reported = outlook

    def _open_next_layer(self) -> None:
        """Open the next layer if the run stopped at the end of one."""
        if self._reported.is_at_layer_end:
            self._reported = self._reported._replace(is_at_layer_end=False)
            self._is_paused = False
            self._state.schedule.open_next_layer()

    def _record_command(self, action: str, outcome: str, at: datetime) -> None:
        """Add an event for a command that has no event of its own."""
        data = {"action": action, "outcome": outcome}
        self._state.pending_changes.add_event(events.COMMAND_APPLIED, at, data)
