"""What has changed about a run and is not written down yet."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from execution import events
from execution.changes import WHOLE_TASK, Changes, Event, TaskChange
from execution.running.standing import Place
from execution.status import RunStatus, TaskStatus

NO_DATA: Mapping[str, Any] = {}
_KINDS: Mapping[TaskStatus, str] = {
    TaskStatus.CANCELLED: events.TASK_CANCELLED,
    TaskStatus.SKIPPED: events.TASK_SKIPPED,
    TaskStatus.SUCCEEDED: events.TASK_SUCCEEDED,
    TaskStatus.UNKNOWN: events.TASK_UNKNOWN,
}
_Told = tuple[str, datetime, str, int, Mapping[str, Any]]
"""Kind, time, task, item and data of an event that has no number yet."""


class Draft:
    """Gathers what changes, and gives events their numbers once it is to be written.

    Args:
        run: Id of the run.
        epoch: Of this process's hold on it.
        last_seq: Number of its newest event.
    """

    def __init__(self, run: UUID, epoch: int, *, last_seq: int) -> None:
        self._run = run
        self._epoch = epoch
        self._last_seq = last_seq
        self._clear()

    def task(self, change: TaskChange, kind: str, data: Mapping[str, Any] = NO_DATA) -> None:
        """Add how a task stands, and the event that it came so."""
        self._tasks.append(change)
        self._events.append((kind, change.at, change.task, change.item, data))

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
        change = TaskChange(task=place[0], item=place[1], status=status, at=at, error_code=code)
        self.task(change, _KINDS[status], data)

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
        self._events.append((kind, at, task, item, data))

    def status(self, status: RunStatus, *, code: str = "", error: str = "") -> None:
        """Set the status of the run, and why it failed."""
        self._set_status(status, code, error)

    def applied(self, command: int | None, outcome: str) -> None:
        """Add a command that was carried out, or refused."""
        if command is not None:
            self._applied.append((command, outcome))

    def workflow(self, workflow: Mapping[str, Any]) -> None:
        """Set the workflow that replaces the one before."""
        self._set_workflow(workflow)

    def take(self) -> Changes | None:
        """Return all of it as one, and begin anew; None if nothing has changed."""
        if not (self._tasks or self._events or self._applied or self._status):
            return None
        changes = Changes(
            run=self._run,
            epoch=self._epoch,
            tasks=tuple(self._tasks),
            events=self._numbered(self._events),
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
        event = (kind, change.at, change.task, change.item, NO_DATA)
        return Changes(
            run=self._run, epoch=self._epoch, tasks=(change,), events=self._numbered([event])
        )

    def refused(self, changes: Changes) -> None:
        """Take back the numbers of what was not written; nothing may have been taken since."""
        self._last_seq -= len(changes.events)

    def _numbered(self, events: list[_Told]) -> tuple[Event, ...]:
        first = self._last_seq + 1
        self._last_seq += len(events)
        return tuple(
            [
                Event(seq=seq, kind=kind, at=at, task=task, item=item, data=data)
                for seq, (kind, at, task, item, data) in enumerate(events, first)
            ]
        )

    def _clear(self) -> None:
        self._tasks: list[TaskChange] = []
        self._events: list[_Told] = []
        self._applied: list[tuple[int, str]] = []
        self._set_status(None)
        self._set_workflow(None)

    def _set_status(self, status: RunStatus | None, code: str = "", error: str = "") -> None:
        self._status, self._code, self._error = status, code, error

    def _set_workflow(self, workflow: Mapping[str, Any] | None) -> None:
        self._workflow = workflow
