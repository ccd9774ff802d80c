"""A workflow: tasks that call tools, what each waits for, and what it takes from others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any


class OnError(StrEnum):
    """What a task that fails means for its run."""

    STOP = "stop"
    """Nothing more is started; what is under way goes on to its end."""
    CONTINUE = "continue"
    """What needs its result is skipped, all else goes on."""
    SAFE_TO_FAIL = "safe_to_fail"
    """Its failure does not count, and what waits for it without needing its result still runs."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A place in the result of another task.

    Attributes:
        task: Id of that task.
        pointer: JSON pointer into what it gave; empty: all of it.
    """

    task: str
    pointer: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """One call of a workflow, or one for each item of a list.

    Attributes:
        id: Unique in the workflow.
        tool: Canonical id, exposed name, or a bare name that only one server has.
        arguments: Values; objects of exactly `$ref` and `pointer` stand for what another task
            gave, those of exactly `$item` for the item, and `$literal` escapes both.
        depends_on: Ids of tasks that must end before; those referred to need not be named.
        references: Ids of the tasks that its arguments or its list refer to.
        for_each: List that it runs for each item of; None: it runs once.
        on_error: What its failure means; None: as the run's options say.
        timeout_s: Seconds it may take with all its attempts; None: the server's limit.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    for_each: Reference | None = None
    on_error: OnError | None = None
    timeout_s: float | None = None

    @cached_property
    def waits_for(self) -> tuple[str, ...]:
        """Ids of all tasks that must end before, each once."""
        return tuple(dict.fromkeys((*self.depends_on, *self.references)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Workflow:
    """Tasks that form a directed acyclic graph.

    Attributes:
        tasks: In the order given.
    """

    tasks: tuple[Task, ...]

    @cached_property
    def by_id(self) -> Mapping[str, Task]:
        """The tasks by id."""
        return {task.id: task for task in self.tasks}


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a run is to be carried out.

    Attributes:
        on_error: What a failure means where the task itself does not say.
        per_layer_validation: Whether it stops at each decision point for its agent.
        deadline_s: Seconds the whole run may take, waiting for people included; None: no limit.
    """

    on_error: OnError = OnError.STOP
    per_layer_validation: bool = False
    deadline_s: float | None = None
