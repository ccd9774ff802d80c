"""Changes of a run that are not journalled yet."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from execution import events
from execution.changes import NO_DATA, WHOLE_TASK, RunChanges, RunEvent, TaskChange, TaskKey
from execution.status import RunStatus, TaskStatus

_EVENT_KINDS: Mapping[TaskStatus, str] = {
    TaskStatus.CANCELLED: events.TASK_CANCELLED,
    TaskStatus.SKIPPED: events.TASK_SKIPPED,
    TaskStatus.SUCCEEDED: events.TASK_SUCCEEDED,
    TaskStatus.UNKNOWN: events.TASK_UNKNOWN,
}


class PendingChanges:
    """Collects changes, and numbers events.

    Args:
        run: Id of the run.
        epoch: Epoch of this process's claim.
        last_seq: Number of the run's newest event.
    """

    def __init__(self, run: UUID, epoch: int, *, last_seq: int) -> None:
        self._run = run
        self._epoch = epoch
        self._last_seq = last_seq
        self._status: RunStatus | None
        self._workflow: Mapping[str, Any] | None
        self._clear()

    def add_task_change(
        self, change: TaskChange, kind: str, data: Mapping[str, Any] = NO_DATA
    ) -> None:
        """Add a task change with its event."""
        self._tasks.append(change)
        self._last_seq += 1
        event = RunEvent(self._last_seq, kind, change.at, change.task, change.item, data)
        self._events.append(event)

    def add_task_status(
        self,
        key: TaskKey,
        status: TaskStatus,
        at: datetime,
        *,
        code: str = "",
        error: str = "",
        data: Mapping[str, Any] = NO_DATA,
    ) -> None:
        """Add a status change without a call, with its event."""
        self.add_task_change(
            TaskChange(*key, status, at, error_code=code, error=error), _EVENT_KINDS[status], data
        )

    def add_row(self, change: TaskChange) -> None:
        """Add a task change without an event."""
        self._tasks.append(change)

    def add_event(
        self,
        kind: str,
        at: datetime,
        data: Mapping[str, Any] = NO_DATA,
        *,
        task: str = "",
        item: int = WHOLE_TASK,
    ) -> None:
        """Add an event."""
        self._last_seq += 1
        self._events.append(RunEvent(self._last_seq, kind, at, task, item, data))

    def set_status(self, status: RunStatus, *, code: str = "", error: str = "") -> None:
        """Set the run's status, and why it failed."""
        self._status, self._code, self._error = status, code, error

    def add_applied_command(self, command: int | None, outcome: str) -> None:
        """Add a command that was applied or refused."""
        if command is not None:
            self._applied.append((command, outcome))

    def set_workflow(self, workflow: Mapping[str, Any]) -> None:
        """Set the replacement workflow."""
        self._workflow = workflow

    def take_changes(self) -> RunChanges | None:
        """Return and clear the collected changes; None if there are none."""
        if not (self._tasks or self._events or self._applied or self._status):
            return None
        changes = RunChanges(
            self._run,
            self._epoch,
            tasks=tuple(self._tasks),
            events=tuple(self._events),
            status=self._status,
            error_code=self._code,
            error=self._error,
            applied_commands=tuple(self._applied),
            workflow=self._workflow,
        )
        self._clear()
        return changes

    def build_single_change(self, change: TaskChange, kind: str) -> RunChanges:
        """Return one task change with its event, separately; no other change may be pending."""
        self._last_seq += 1
        event = RunEvent(self._last_seq, kind, change.at, change.task, change.item)
        return RunChanges(self._run, self._epoch, tasks=(change,), events=(event,))

    def revert_numbers(self, changes: RunChanges) -> None:
        """Release the event numbers of unwritten changes; no other change may come first."""
        self._last_seq -= len(changes.events)

    def _clear(self) -> None:
        self._tasks: list[TaskChange] = []
        self._events: list[RunEvent] = []
        self._applied: list[tuple[int, str]] = []
        self._status = None
        self._code = self._error = ""
        self._workflow = None
