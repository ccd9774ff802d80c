"""What an executor is given: how a run stands, and the means to carry it on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import UUID

from execution.changes import Journal
from execution.running.limits import Limits
from execution.running.results import Root
from execution.status import RunStatus, TaskStatus
from execution.workflow import Options, Workflow

if TYPE_CHECKING:
    from execution.call import Leave, Prepared

Result = Mapping[str, Any]
"""What a server answered, raw."""
Place = tuple[str, int]
"""Id of a task, and the place in its list; `WHOLE_TASK`: the task itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStanding:
    """How a task, or one item of it, stood when the run was taken.

    Attributes:
        status: A call that is running is one whose outcome is lost: it counts as unknown. Give
            one that may be made again as pending.
        attempts: Calls made so far.
        error_code: Stable word; empty: no error.
        approval: Primary key of the approval of this call, if it was given and not used.
        definition_hash: Of the definition that was approved, or asked about.
        arguments_digest: Of the arguments that were approved, or asked about.
    """

    status: TaskStatus
    attempts: int = 0
    error_code: str = ""
    approval: UUID | None = None
    definition_hash: str = ""
    arguments_digest: str = ""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a run stood when this process took it.

    Attributes:
        run: Its id.
        epoch: Of this process's hold on it.
        last_seq: Number of its newest event.
        workflow: Its tools by canonical id.
        options: How errors, layers and deadlines are dealt with.
        deadline_at: When its time is up; None: never.
        tasks: What is known of tasks and items; a task that is missing is pending.
        status: Queued: it starts. Running: the process before was lost. At rest: it stays so until
            told otherwise, which may be done before it is run.
    """

    run: UUID
    epoch: int
    last_seq: int
    workflow: Workflow
    options: Options = field(default_factory=Options)
    deadline_at: datetime | None = None
    tasks: Mapping[Place, TaskStanding] = field(default_factory=dict)
    status: RunStatus = RunStatus.QUEUED


class Answer(Protocol):
    """What a tool answered."""

    @property
    def is_error(self) -> bool:
        """Whether the tool itself reports a failure."""

    @property
    def raw(self) -> Result:
        """The result as it came."""


class Answered(Protocol):
    """A call that was answered; `execution.call.Outcome` is one."""

    @property
    def result(self) -> Answer:
        """What came."""

    @property
    def duration_s(self) -> float:
        """From dispatch to answer."""


class Invocation(NamedTuple):
    """One call that is to be made, its intent written down already.

    Attributes:
        task: Id of the task.
        item: Place in the list that it runs for; `WHOLE_TASK`: it runs once.
        tool: Canonical id.
        arguments: All references replaced.
        timeout_s: Seconds that it may take with all its attempts; None: the server's limit.
        leave: A person's approval, used up already; None: none was needed.
        on_retry: Told of each attempt after the first, and of the failure before it.
        on_progress: Told what the server reports: progress, total, message.
    """

    task: str
    item: int
    tool: str
    arguments: Mapping[str, Any]
    timeout_s: float | None
    leave: Leave | None
    on_retry: Callable[[int, BaseException], None]
    on_progress: Callable[[float, float | None, str | None], None]


def unseen(
    _task: str, _item: int, _progress: float, _total: float | None, _message: str | None
) -> None:
    """Take a report of progress that nobody follows."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """What an executor reaches for outside itself.

    Attributes:
        prepare: Checks a call of a tool with arguments and says what it takes; raises `CallError`
            or another error with a `code` where it may not be made.
        invoke: Makes a call; cancelling it cancels the call upstream.
        journal: Where everything is written down.
        limits: How many calls run at once, over all runs of the process.
        clock: Tells the time; only shown and compared with a deadline once, at the start.
        recall: Gives again what references see of the results of tasks, items included.
        on_progress: Told what servers report: task, item, progress, total, message.
        whose: Whom the slots that the run takes count for.
        gather_s: Seconds that the end of a call may wait to be written down together with others.
    """

    prepare: Callable[[str, Mapping[str, Any]], Prepared]
    invoke: Callable[[Invocation], Awaitable[Answered]]
    journal: Journal
    limits: Limits
    clock: Callable[[], datetime]
    recall: Callable[[Collection[str]], Awaitable[Mapping[Place, Root]]]
    on_progress: Callable[[str, int, float, float | None, str | None], None] = unseen
    whose: Hashable = None
    gather_s: float = 0.0
