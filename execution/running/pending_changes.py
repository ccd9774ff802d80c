"""What has changed about a run and is not written down yet."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from execution import events
from execution.changes import NO_DATA, WHOLE_TASK, Changes, Event, TaskChange
from execution.running.standing import Place
from execution.status import RunStatus, TaskStatus

_KINDS: Mapping[TaskStatus, str] = {
    TaskStatus.CANCELLED: events.TASK_CANCELLED,
    TaskStatus.SKIPPED: events.TASK_SKIPPED,
    TaskStatus.SUCCEEDED: events.TASK_SUCCEEDED,
    TaskStatus.UNKNOWN: events.TASK_UNKNOWN,
}


class Draft:
    """Gathers what changes, and gives events their numbers.

    Args:
        run: Id of the run.
        epoch: Of this process's hold on it.
        last_seq: Number of its newest event.
    """

    def __init__(self, run: UUID, epoch: int, *, last_seq: int) -> None:
        self._run = run
        self._epoch = epoch
        self._last_seq = last_seq
        self._status: RunStatus | None
        self._workflow: Mapping[str, Any] | None
        self._clear()

    def task(self, change: TaskChange, kind: str, data: Mapping[str, Any] = NO_DATA) -> None:
        """Add how a task stands, and the event that it came so."""
        self._tasks.append(change)
        self._last_seq += 1
        event = Event(self._last_seq, kind, change.at, change.task, change.item, data)
        self._events.append(event)

    def stands(
        self,
        place: Place,
        status: TaskStatus,
        at: datetime,
        *,
        code: str = "",
        data: Mapping[str, Any] = NO_DATA,
    ) -> None:
        """Add that a task stands so, of which there is nothing more to say, and the event."""
        self.task(TaskChange(*place, status, at, error_code=code), _KINDS[status], data)

    def row(self, change: TaskChange) -> None:
        """Add how a task stands, of which no event tells."""
        self._tasks.append(change)

    def event(
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
        self._events.append(Event(self._last_seq, kind, at, task, item, data))

    def status(self, status: RunStatus, *, code: str = "", error: str = "") -> None:
        """Set the status of the run, and why it failed."""
        self._status, self._code, self._error = status, code, error

    def applied(self, command: int | None, outcome: str) -> None:
        """Add a command that was carried out, or refused."""
        if command is not None:
            self._applied.append((command, outcome))

    def workflow(self, workflow: Mapping[str, Any]) -> None:
        """Set the workflow that replaces the one before."""
        self._workflow = workflow

    def take(self) -> Changes | None:
        """Return all of it as one, and begin anew; None if nothing has changed."""
        if not (self._tasks or self._events or self._applied or self._status):
            return None
        changes = Changes(
            self._run,
            self._epoch,
            tasks=tuple(self._tasks),
            events=tuple(self._events),
            status=self._status,
            error_code=self._code,
            error=self._error,
            applied=tuple(self._applied),
            workflow=self._workflow,
        )
        self._clear()
        return changes

    def alone(self, change: TaskChange, kind: str) -> Changes:
        """Return one change of a task with its event, apart from all else; nothing may wait."""
        self._last_seq += 1
        event = Event(self._last_seq, kind, change.at, change.task, change.item)
        return Changes(self._run, self._epoch, tasks=(change,), events=(event,))

    def refused(self, changes: Changes) -> None:
        """Take back the numbers of what was not written; nothing may have happened since."""
        self._last_seq -= len(changes.events)

    def _clear(self) -> None:
        self._tasks: list[TaskChange] = []
        self._events: list[Event] = []
        self._applied: list[tuple[int, str]] = []
        self._status = None
        self._code = self._error = ""
        self._workflow = None
