"""Workflows: tasks that call tools, with their dependencies and references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from gateway_project.foundation.references import ReferenceTarget
from tools.ids import SEPARATOR


class OnError(StrEnum):
    """Policy for a failed task."""

    STOP = "stop"
    """Nothing more is started; calls in flight finish."""
    CONTINUE = "continue"
    """Tasks that need it are skipped; all others continue."""
    SAFE_TO_FAIL = "safe_to_fail"
    """Ignored; tasks that wait for it without needing its result still run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WorkflowTask:
    """One call of a workflow, or one per item of a list.

    Attributes:
        id: Unique in the workflow.
        tool: Canonical id, exposed name, or a bare name that only one server has.
        arguments: Values; objects of exactly `$ref` and `pointer` refer to another task's result,
            those of exactly `$item` to the item, and `$literal` escapes both.
        depends_on: Ids of tasks that must end first; those referred to need not be named.
        references: Ids of the tasks that its arguments or its list refer to.
        for_each: List to run for; None: it runs once.
        on_error: Failure policy; None: that of the run's options.
        timeout_s: Seconds for all attempts; None: the server's limit.
        pk: Primary key of the tool; 0: not looked up, which a run does by itself.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    for_each: ReferenceTarget | None = None
    on_error: OnError | None = None
    timeout_s: float | None = None
    pk: int = 0

    @property
    def server(self) -> str:
        """Name of the tool's server, of a canonical id; server names contain no colon."""
        return self.tool.partition(SEPARATOR)[0]

    @cached_property
    def waits_for(self) -> tuple[str, ...]:
        """Ids of all tasks that must end first, without duplicates."""
        return tuple(dict.fromkeys((*self.depends_on, *self.references)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Workflow:
    """Tasks that form a directed acyclic graph."""

    tasks: tuple[WorkflowTask, ...]

    @cached_property
    def by_id(self) -> Mapping[str, WorkflowTask]:
        """The tasks by id."""
        return {task.id: task for task in self.tasks}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run.

    Attributes:
        on_error: Failure policy for tasks without one.
        per_layer_validation: Whether it stops at a decision point after each layer.
        deadline_s: Seconds for the whole run, including waits for people; None: no limit.
    """

    on_error: OnError = OnError.STOP
    per_layer_validation: bool = False
    deadline_s: float | None = None
