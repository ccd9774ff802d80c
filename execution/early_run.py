"""A workflow that was run ahead of the request for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from execution.speculation_rules import AdmissibilityReason


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyTask:
    """A call of a workflow that was run ahead.

    Attributes:
        task: Id of the task.
        tool: Canonical id.
        arguments: As they were sent.
        started_s: Seconds from the start of the run.
        duration_ms: Milliseconds until the answer, or until nobody waited for it any more.
        trouble: What went wrong, in a few words; empty if nothing did.
    """

    task: str
    tool: str
    arguments: Mapping[str, Any]
    started_s: float
    duration_ms: float
    trouble: str = ""


@dataclass(frozen=True, kw_only=True)
class EarlyRun:
    """A workflow that was run ahead, or as much of it as succeeded in time.

    Attributes:
        raw_results: Raw results by task: one, or those of its items in order.
        lists: Ids of the tasks that ran for each item of a list.
        tasks: The calls, in the order in which they ended.
        took_s: Seconds from the first call to the last answer.
        reasons: Why it is not all of the workflow; empty if it is.
    """

    raw_results: Mapping[str, tuple[Mapping[str, Any], ...]]
    lists: frozenset[str]
    tasks: tuple[EarlyTask, ...]
    took_s: float
    reasons: tuple[AdmissibilityReason, ...] = ()
