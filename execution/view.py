"""Runs as their callers see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from execution.changes import WHOLE_TASK
from execution.status import RunStatus, TaskStatus


@dataclass(frozen=True, kw_only=True)
class TaskView:
    """How a task stands, or one item of a task that runs for each of a list.

    Attributes:
        task: Its id.
        tool: Canonical id.
        status: How it stands.
        item: Place in the list that it runs for; -1: the task as a whole.
        position: Place of the task in the workflow, from 0.
        attempts: Calls made.
        definition_hash: Of the definition that was called; empty: none was.
        started_at: When its call began, the last one if it was made anew; of a task with a list:
            when it was first started.
        ended_at: When it was done.
        duration_ms: Of its call alone.
        error_code: Stable word; empty: no error.
        error: What is said of it, in one line; empty without results, or when it has expired.
        result: What the server gave, raw; None without results, if nothing, or when it expired.
        result_bytes: Size of that as JSON; None: there was none.
    """

    task: str
    tool: str
    status: TaskStatus
    item: int = WHOLE_TASK
    position: int = 0
    attempts: int = 0
    definition_hash: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_ms: float | None = None
    error_code: str = ""
    error: str = ""
    result: Mapping[str, Any] | None = None
    result_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class ApprovalView:
    """An approval of one call.

    Attributes:
        id: Primary key.
        run: The run whose call it is.
        task: Id of the task.
        item: Place in the list that the task runs for.
        tool: Canonical id.
        definition_hash: Of the definition it is for.
        arguments_digest: Keyed digest of the arguments it is for.
        reason: Why a person is asked.
        user: Name of the user whose call it is.
        team: Primary key of the team acted for; None: none.
        status: pending, approved, rejected, used, expired or withdrawn; one that nobody decided
            in time is expired, also where no row says so yet.
        arguments: What the tool would be called with; None without results, or when it expired.
        created_at: When it was asked for.
        expires_at: When it can no longer be decided or used, by the clock of the database.
        decided_at: When it was decided.
        decided_by: Name of the user who did.
        decided_via: console, command or elicitation.
    """

    id: UUID
    run: UUID
    task: str
    tool: str
    reason: str
    user: str
    team: int | None
    status: str
    created_at: datetime
    expires_at: datetime
    item: int = WHOLE_TASK
    definition_hash: str = ""
    arguments_digest: str = ""
    arguments: Any = None
    decided_at: datetime | None = None
    decided_by: str = ""
    decided_via: str = ""

    @property
    def is_pending(self) -> bool:
        """Whether somebody has to decide it."""
        return self.status == "pending"


@dataclass(frozen=True, kw_only=True)
class RunView:
    """A run with its tasks and approvals, as they stood at one moment.

    Attributes:
        id: Primary key.
        user: Name of the user it runs for.
        team: Primary key of the team acted for; None: none.
        kind: The way in.
        is_direct: Whether it is a single call that had to wait for approval.
        status: How it stands.
        version: Of its workflow: one more with each replan.
        last_seq: Number of its newest event.
        created_at: When it was asked for.
        changed_at: When it last changed.
        started_at: When it was first started.
        ended_at: When it ended.
        delivered_at: When its caller was first given what came of it.
        deadline_at: When it is ended, whatever it does.
        tasks: In order of the workflow, the items of a task after it.
        approvals: All that were asked for, oldest first.
        workflow: JSON of the workflow as it is now; None without results, or when it expired.
        intent: What it is for, in words; empty: nothing was said, as above.
        options: JSON of how it is carried out.
        error_code: Why it failed; empty: it did not.
        error: What is said of that, in one line.
        has_expired: Whether what it was given and answered is kept no longer.
    """

    id: UUID
    user: str
    team: int | None
    kind: str
    is_direct: bool
    status: RunStatus
    version: int
    last_seq: int
    created_at: datetime
    changed_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    delivered_at: datetime | None = None
    deadline_at: datetime | None = None
    tasks: tuple[TaskView, ...] = ()
    approvals: tuple[ApprovalView, ...] = ()
    workflow: Mapping[str, Any] | None = None
    intent: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    error_code: str = ""
    error: str = ""
    has_expired: bool = False

    @property
    def pending(self) -> tuple[ApprovalView, ...]:
        """The approvals that somebody has to decide."""
        return tuple(one for one in self.approvals if one.is_pending)


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """A run in a list: no payload is read for it.

    Attributes:
        id: Primary key.
        user: Name of the user it runs for.
        team: Primary key of the team acted for; None: none.
        status: How it stands.
        is_direct: Whether it is a single call that had to wait for approval.
        tools: Canonical ids in order of the workflow, at most `MAX_TOOLS`.
        tasks_total: Tasks of its workflow.
        tasks_done: Those that the scheduler is done with.
        approvals: That wait for a decision.
        created_at: When it was asked for.
        started_at: When it was first started.
        ended_at: When it ended.
        error_code: Why it failed; empty: it did not.
    """

    id: UUID
    user: str
    team: int | None
    status: RunStatus
    is_direct: bool
    tools: tuple[str, ...]
    tasks_total: int
    tasks_done: int
    approvals: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    error_code: str


MAX_TOOLS = 5
"""Tools that a line of a list names."""
