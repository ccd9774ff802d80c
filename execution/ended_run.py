"""The data of an ended run from which Foregate learns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from execution.status import RunStatus
from execution.workflow import Workflow
from gateway_project.foundation.caller import Contributor


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredCalls:
    """The answered calls of a task; each item of a for-each task is one.

    Attributes:
        task: Id of the task.
        tool: Canonical id.
        succeeded: Calls that succeeded.
        failed: Calls that the tool itself reported as failed.
        started_at: Start of the first.
        ended_at: End of the last.
    """

    task: str
    tool: str
    succeeded: int
    failed: int
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class CallDurations:
    """The calls of a tool whose duration is known.

    Attributes:
        tool: Canonical id.
        calls: Number of calls.
        total_ms: Their total duration.
    """

    tool: str
    calls: int
    total_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CallResult:
    """The result of a call.

    Attributes:
        tool: Canonical id.
        definition_hash: Of the definition that was called.
        raw: As received.
    """

    tool: str
    definition_hash: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class EndedRun:
    """A run that has ended.

    Attributes:
        run: Its id.
        contributor: Whose it was.
        status: Final status.
        is_direct: Whether it was a client's single call.
        ended_at: When it ended.
        intent: Its intent; empty: none given, or expired.
        workflow: Its final workflow; None: expired.
        answered_calls: Its calls, by task.
        call_durations: Their durations.
        results: Some of their results.
        weight: How much it counts: 1 for a workflow that was run as such; less, in (0, 1), for
            calls of which it is only likely that they belong together.
    """

    run: UUID
    contributor: Contributor
    status: RunStatus
    is_direct: bool
    ended_at: datetime
    intent: str = ""
    workflow: Workflow | None = None
    answered_calls: tuple[AnsweredCalls, ...] = ()
    call_durations: tuple[CallDurations, ...] = ()
    results: tuple[CallResult, ...] = ()
    weight: float = 1.0
