"""Changes of a run that are journalled together or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from execution.status import RunStatus, TaskStatus

WHOLE_TASK: Final = -1
"""Item value of a task as a whole."""
TaskKey = tuple[str, int]
"""Task id and item index; `WHOLE_TASK`: the task itself."""
NO_DATA: Final[Mapping[str, Any]] = {}

# Named tuples: several are built per call, and a frozen dataclass takes three times as long.


class RunEvent(NamedTuple):
    """An event of a run.

    Attributes:
        seq: 1, 2, 3 … within its run, without gaps; assigned by the executing process.
        kind: Such as `task_started`; see `execution.events`.
        at: When it happened.
        task: Id of the task; empty: it concerns the run.
        item: Index in the for-each list.
        data: Ids, codes and figures; never payloads.
    """

    seq: int
    kind: str
    at: datetime
    task: str = ""
    item: int = WHOLE_TASK
    data: Mapping[str, Any] = NO_DATA


class TaskChange(NamedTuple):
    """A change of a task or of one of its items.

    Attributes:
        task: Its id.
        item: Index in the for-each list.
        status: Its new status.
        at: When; the start of a running call, the end of a finished one.
        attempts: Calls made so far, including this one; None: unchanged.
        definition_hash: Of the called definition; None: unchanged.
        arguments_digest: Keyed digest of the arguments; None: unchanged.
        arguments: To be sealed and kept for review; None: not kept.
        result: Raw result; None: none.
        duration_ms: Duration of the call.
        error_code: Stable error code; empty: no error.
        error: Error in one line.
        approval: Approval to consume in the same transaction, which fails if it is not approved;
            None: none needed.
        approval_reason: Why approval is required; if set, it is requested.
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
    approval_reason: str = ""


class RunChanges(NamedTuple):
    """Changes of a run at one moment.

    Attributes:
        run: Its id.
        epoch: Epoch of the process's claim; refused if a later one exists.
        tasks: In order.
        events: In order of `seq`.
        status: New status of the run; None: unchanged.
        error_code: Why it failed; only with a status.
        error: That error in one line.
        applied_commands: Applied commands: primary key and outcome, `done` or a refusal code.
        workflow: JSON of a replacement workflow with canonical tool ids. Its version goes up by
            one, new tasks get rows, and unstarted tasks that it lacks lose theirs.
    """

    run: UUID
    epoch: int
    tasks: tuple[TaskChange, ...] = ()
    events: tuple[RunEvent, ...] = ()
    status: RunStatus | None = None
    error_code: str = ""
    error: str = ""
    applied_commands: tuple[tuple[int, str], ...] = ()
    workflow: Mapping[str, Any] | None = None


class RunFenced(Exception):
    """Another process has claimed the run; this one must stop."""

    def __init__(self, run: UUID) -> None:
        super().__init__(f"run {run} was taken over by another process")
        self.run = run


class CallNotApproved(Exception):
    """An approval to consume is not approved, was already used, or has expired."""


class Journal(Protocol):
    """Records changes of runs durably."""

    async def record(self, changes: RunChanges) -> object:
        """Return once the changes are durable; those of one run keep their order.

        Waits while the database is unavailable.

        Raises:
            RunFenced: If another process has claimed the run; nothing is written then.
            CallNotApproved: If an approval cannot be used; nothing is written then.
        """
