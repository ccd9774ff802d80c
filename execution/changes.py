"""What changes about a run at one moment: written down together or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from execution.status import RunStatus, TaskStatus

WHOLE_TASK: Final = -1
"""Item of what concerns a task as a whole."""
NO_DATA: Final[Mapping[str, Any]] = {}

# Named tuples: several are made for each call, and a frozen dataclass takes three times as long.


class Event(NamedTuple):
    """Something that happened to a run.

    Attributes:
        seq: 1, 2, 3 … in its run, without gaps; given by the process that runs it.
        kind: Such as `task_started`; see `execution.events`.
        at: When.
        task: Id of the task it concerns; empty: the run.
        item: Place in the list that the task runs for.
        data: Ids, codes and figures; never what was given or answered.
    """

    seq: int
    kind: str
    at: datetime
    task: str = ""
    item: int = WHOLE_TASK
    data: Mapping[str, Any] = NO_DATA


class TaskChange(NamedTuple):
    """How a task, or one of its items, stands from now on.

    Attributes:
        task: Its id.
        item: Place in the list that it runs for.
        status: Its new status.
        at: When; the start of what is running, the end of what is done.
        attempts: Calls made so far, this one included; None: as before.
        definition_hash: Of the definition that is called; None: as before.
        arguments_digest: Keyed digest of the arguments; None: as before.
        arguments: To be kept, sealed, for a person to look at; None: not.
        result: What the server gave, raw; None: nothing.
        duration_ms: Of the call.
        error_code: Stable word; empty: no error.
        error: What is said of it, in one line.
        approval: Of this call: to be used up by the same transaction, which fails where it is not
            approved; None: none is needed.
        asks: Why a person has to approve the call; with it an approval is asked for.
    """

    task: str
    item: int
    status: TaskStatus
    at: datetime
    attempts: int | None = None
    definition_hash: str | None = None
    arguments_digest: str | None = None
    arguments: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    duration_ms: float | None = None
    error_code: str = ""
    error: str = ""
    approval: UUID | None = None
    asks: str = ""


class Changes(NamedTuple):
    """What changes about a run at one moment.

    Attributes:
        run: Its id.
        epoch: Of the process's hold on it; a later one refuses all of this.
        tasks: In order.
        events: In order of their numbers.
        status: New status of the run; None: as before.
        error_code: Why it failed; only with a status.
        error: What is said of it, in one line.
        applied: Commands carried out with this: primary key and outcome, `done` or a code.
        workflow: JSON of what replaces the workflow, tools by canonical id: its version goes up
            by one, new tasks get rows, those that never started and are not in it lose theirs.
    """

    run: UUID
    epoch: int
    tasks: tuple[TaskChange, ...] = ()
    events: tuple[Event, ...] = ()
    status: RunStatus | None = None
    error_code: str = ""
    error: str = ""
    applied: tuple[tuple[int, str], ...] = ()
    workflow: Mapping[str, Any] | None = None


class Fenced(Exception):
    """Another process has taken the run over; nothing more may be done for it here."""

    def __init__(self, run: UUID) -> None:
        super().__init__(f"run {run} was taken over by another process")
        self.run = run


class NotApproved(Exception):
    """An approval that was to be used is not approved, used already, or has expired."""


class Journal(Protocol):
    """Writes down what happens to runs."""

    async def record(self, changes: Changes) -> object:
        """Return once the changes are safe; those of one run keep their order.

        Waits for as long as the database is away.

        Raises:
            Fenced: If the run is another process's by now; nothing is written then.
            NotApproved: If an approval cannot be used; nothing is written then.
        """
