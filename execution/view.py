"""Views of runs, as callers see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from execution.changes import WHOLE_TASK
from execution.status import RunStatus, TaskStatus


@dataclass(frozen=True, kw_only=True)
class TaskView:
    """The view of a task, or of one item of a for-each task.

    Attributes:
        task: Its id.
        tool: Canonical id.
        status: Its status.
        item: Index in the for-each list; -1: the task as a whole.
        position: Index of the task in the workflow, from 0.
        attempts: Number of calls made.
        definition_hash: Of the definition that was called; empty: none was.
        started_at: Start of its last call; for a for-each task, its first start.
        ended_at: When it ended.
        duration_ms: Duration of the call alone.
        error_code: Stable error code; empty: no error.
        error: Error in one line; empty without results, or if expired.
        result: Raw result; None without results, if there is none, or if expired.
        result_bytes: Its JSON size; None: no result.
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
        run: Id of the run.
        task: Id of the task.
        item: Index in the for-each list.
        tool: Canonical id.
        definition_hash: Of the definition it applies to.
        arguments_digest: Keyed digest of the arguments it applies to.
        reason: Why approval is required.
        user: Name of the calling user.
        team: Primary key of the team acted for; None: none.
        status: pending, approved, rejected, used, expired or withdrawn; one undecided in time is
            expired, even before its row says so.
        arguments: Arguments of the call; None without results, or if expired.
        created_at: When it was requested.
        expires_at: When it can no longer be decided or used, by the database clock.
        decided_at: When it was decided.
        decided_by: Name of the deciding user.
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
        """Whether it still needs a decision."""
        return self.status == "pending"


@dataclass(frozen=True, kw_only=True)
class RunView:
    """A run with its tasks and approvals at one moment.

    Attributes:
        id: Primary key.
        user: Name of the user it runs for.
        team: Primary key of the team acted for; None: none.
        kind: Kind of the caller's connection.
        is_direct: Whether it is a single call that became a run.
        status: Its status.
        version: Version of its workflow; each replan adds one.
        last_seq: Sequence number of its newest event.
        created_at: When it was requested.
        changed_at: When it last changed.
        started_at: When it was first started.
        ended_at: When it ended.
        delivered_at: When its result was first delivered to the caller.
        deadline_at: When it is ended at the latest.
        tasks: In workflow order; items follow their task.
        approvals: All requested approvals, oldest first.
        workflow: JSON of the current workflow; None without results, or if expired.
        intent: Its intent; empty: none, or as above.
        options: JSON of its options.
        error_code: Why it failed; empty: it did not.
        error: That error in one line.
        has_expired: Whether its payloads have expired.
        converted: In the answer to the request that started it: what of its arguments was
            converted, with pointers from the workflow.
        replanned: In the answer to a replan: ids of its tasks by what became of them, `kept`,
            `changed`, `added` or `removed`.
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
    converted: Sequence[Mapping[str, str]] = ()
    replanned: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def pending_approvals(self) -> tuple[ApprovalView, ...]:
        """The approvals that need a decision."""
        return tuple(approval for approval in self.approvals if approval.is_pending)


RunSort = Literal["newest", "oldest", "longest"]


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which runs are listed; None and empty: all.

    Attributes:
        status: With this status.
        tool: With a task of this tool (canonical id), or of this server.
        user: For this user.
        team: For this team, by primary key.
        since: Requested at this time or later.
        until: Requested before this time.
        min_duration_s: That took at least this long, or have so far.
        text: With it in their id, user, error code, or in a task's id or tool; case is ignored.
        sort: Which come first.
    """

    status: RunStatus | None = None
    tool: str = ""
    user: str = ""
    team: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_duration_s: float | None = None
    text: str = ""
    sort: RunSort = "newest"


ALL_RUNS: Final = RunFilter()


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """A run in a list; built without reading payloads.

    Attributes:
        id: Primary key.
        user: Name of the user it runs for.
        team: Primary key of the team acted for; None: none.
        status: Its status.
        is_direct: Whether it is a single call that became a run.
        tools: Canonical ids in workflow order, at most `MAX_TOOLS`.
        tasks_total: Number of tasks of its workflow.
        tasks_done: Number of finished tasks.
        approvals: Number of pending approvals.
        created_at: When it was requested.
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
"""Tools named per list entry."""
