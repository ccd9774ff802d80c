"""What is left of a run that has ended, for those who learn from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from execution.status import RunStatus
from execution.workflow import Workflow


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """Calls of a task that a server answered, each item of a list being one.

    Attributes:
        task: Id of the task.
        tool: Canonical id.
        held: Calls that succeeded.
        failed: Calls of which the tool itself said that they failed.
        started_at: When the first of them began.
        ended_at: When the last of them ended.
    """

    task: str
    tool: str
    held: int
    failed: int
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """Calls of a tool that took about as long as each other.

    Attributes:
        tool: Canonical id.
        bucket: How many of the bounds asked for are no longer than they took.
        calls: How many.
        total_ms: What they took together.
    """

    tool: str
    bucket: int
    calls: int
    total_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a call gave.

    Attributes:
        tool: Canonical id.
        definition_hash: Of the definition that was called.
        raw: As the server gave it.
    """

    tool: str
    definition_hash: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class EndedRun:
    """A run that has ended.

    Attributes:
        run: Its id.
        team: Primary key of the team it ran for; None: none.
        status: How it ended.
        is_direct: Whether it was a single call that a client made.
        ended_at: When.
        intent: What it was for; empty: nobody said, or it is kept no longer.
        workflow: As it was carried out in the end; None: it is kept no longer.
        answered: Its calls, by task.
        timed: How long they took.
        results: Some of what they gave.
    """

    run: UUID
    team: int | None
    status: RunStatus
    is_direct: bool
    ended_at: datetime
    intent: str = ""
    workflow: Workflow | None = None
    answered: tuple[Answered, ...] = ()
    timed: tuple[Timed, ...] = ()
    results: tuple[Result, ...] = ()
