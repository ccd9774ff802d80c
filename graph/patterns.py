"""Finished runs, and the abstract workflow shared by all runs of one pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from gateway_project.foundation import canonical
from gateway_project.foundation.references import iterate_references
from graph.exchange.document import quote_value

VALUE_MASK: Final = "*"
"""Replaces, in what is stored, a name that may be a value."""
MAX_NAME_CHARS: Final = 60
MAX_NAME_DIGITS: Final = 4
MAX_TASKS: Final = 100
MAX_ARGUMENTS: Final = 60
"""Arguments of a task that are read, and references of a task that are stored."""
MAX_KEY_CHARS: Final = 200
MAX_DEPTH: Final = 100
MIN_SUPPORT: Final = 1.0
"""Successes, by weight, from which a pattern is used: one run of a workflow, or calls made one by
one in two sessions."""
MIN_TOOL_SUPPORT: Final = 2.0
"""Successes of one tool alone, by weight and over all intents, from which its patterns are used
even if no intent was repeated: searches of three sessions, each followed by a call of it."""
_VALUE_CHARACTERS: Final = frozenset("@/\\")


class InvalidRun(ValueError):
    """A run that cannot be recorded; the message says why."""


class UnknownRunTool(InvalidRun):
    """A run of an unknown tool."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"no tool {quote_value(tool)}")


@dataclass(frozen=True, kw_only=True)
class RunTask:
    """A task of a finished run.

    Attributes:
        id: Unique in its run.
        tool: Primary key of the tool it called.
        arguments: Arguments of the call. A value from another task's result is
            `{"$ref": task, "pointer": "/…"}`; a literal that looks like that is
            `{"$literal": …}`.
        depends_on: Ids of tasks that had to end before; referenced tasks need not be listed.
    """

    id: str
    tool: int
    arguments: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """A finished run of a workflow.

    Attributes:
        key: Unique in its team; each key is recorded once.
        intent: The task that was requested.
        tasks: In the order they ran, as far as known.
        succeeded: Whether the whole workflow succeeded.
        weight: How certain it is that it was this workflow, for this intent, in (0, 1]; 1: it was
            run as such.
        person: Primary key of the private team of who ran it; None: it was imported by an admin.
    """

    key: str
    intent: str
    tasks: tuple[RunTask, ...]
    succeeded: bool = True
    at: datetime
    weight: float = 1.0
    person: int | None = None


class ReferencedValue(NamedTuple):
    """A value that an argument takes from another task.

    Attributes:
        task: Id of the task that produced it.
        pointer: JSON pointer into that task's result.
    """

    parameter: str
    task: str
    pointer: str


@dataclass(frozen=True, kw_only=True)
class PatternWorkflow:
    """The workflow of a run, without values.

    Attributes:
        tasks: In an order that respects dependencies; renamed t1, t2 and so on.
        references: The references of each task, in the same order.
        ids: New ids of tasks by their original ids.
    """

    tasks: tuple[RunTask, ...]
    references: tuple[tuple[ReferencedValue, ...], ...]
    ids: Mapping[str, str]

    @property
    def tools(self) -> tuple[int, ...]:
        """Primary keys of the tools in the same order; tools may recur."""
        return tuple(task.tool for task in self.tasks)


def abstract_workflow(tasks: Sequence[RunTask]) -> PatternWorkflow:
    """Return the workflow of tasks without values; equal for all runs of one pattern.

    Tasks are sorted by dependencies, as close as possible to their original order.

    Complexity: O(n²) for n tasks, of which there are at most `MAX_TASKS`.

    Raises:
        InvalidRun: If ids are missing or repeated, a dependency does not exist, or dependencies
            form a cycle.
    """
    _check_ids(tasks)
    references = {task.id: tuple(_iterate_references(task)) for task in tasks}
    dependencies = {
        task.id: set(task.depends_on) | {reference.task for reference in references[task.id]}
        for task in tasks
    }
    _check_dependencies(dependencies)
    order = _sort_tasks(tasks, dependencies)
    ids = {task.id: f"t{number}" for number, task in enumerate(order, start=1)}
    abstract_tasks = [
        RunTask(
            id=ids[task.id],
            tool=task.tool,
            depends_on=tuple(
                sorted(map(ids.__getitem__, dependencies[task.id]), key=_task_number)
            ),
        )
        for task in order
    ]
    renamed = [
        {reference._replace(task=ids[reference.task]) for reference in references[task.id]}
        for task in order
    ]
    return PatternWorkflow(
        tasks=tuple(abstract_tasks),
        references=tuple(tuple(sorted(unordered)) for unordered in renamed),
        ids=ids,
    )


def workflow_to_document(
    workflow: PatternWorkflow, names: Mapping[int, str]
) -> list[dict[str, Any]]:
    """Return a workflow as stored: tools by canonical id, no values.

    Argument names and pointer steps that look like values are masked.
    """
    return [
        {
            "id": task.id,
            "tool": names[task.tool],
            "depends_on": list(task.depends_on),
            "references": [
                reference._asdict()
                for reference in sorted(set(map(_mask_reference, references)))[:MAX_ARGUMENTS]
            ],
        }
        for task, references in zip(workflow.tasks, workflow.references, strict=True)
    ]


def compute_workflow_hash(document: Sequence[Mapping[str, Any]]) -> str:
    """Return the digest of a workflow in the form of `workflow_to_document`."""
    return canonical.hash_json(list(document))


def normalize_intent(masked: str) -> str:
    """Return the normal form of a masked intent, which identifies it.

    Example:
        >>> normalize_intent("  Book a Flight.  ")
        'book a flight'
    """
    return " ".join(masked.casefold().split()).strip(" .!?…。！？")  # noqa: RUF001 - CJK marks


def is_field_name(text: str) -> bool:
    """Return whether a JSON key looks like a name rather than a value.

    A value has an `@` or a slash, many digits, or more than 60 characters. List indices count as
    names.

    Example:
        >>> [is_field_name(one) for one in ("user_id", "0", "sha256", "ann@example.org",
        ...     "170-555-0199")]
        [True, True, True, False, False]
    """
    digits = sum(character.isdigit() for character in text)
    if (
        len(text) > MAX_NAME_CHARS
        or digits > MAX_NAME_DIGITS
        or not _VALUE_CHARACTERS.isdisjoint(text)
    ):
        return False
    return 2 * digits <= len(text) or text.isdecimal()


def mask_pointer(pointer: str) -> str:
    """Return a JSON pointer with `*` for each step that looks like a value.

    Example:
        >>> mask_pointer("/users/ann@example.org/name")
        '/users/*/name'
    """
    steps = pointer.split("/")
    return "/".join(
        step if is_field_name(canonical.unescape_token(step)) else VALUE_MASK for step in steps
    )


def _mask_reference(reference: ReferencedValue) -> ReferencedValue:
    parameter = reference.parameter if is_field_name(reference.parameter) else VALUE_MASK
    return reference._replace(parameter=parameter, pointer=mask_pointer(reference.pointer))


def _iterate_references(task: RunTask) -> Iterator[ReferencedValue]:
    for parameter, value in task.arguments.items():
        if canonical.is_deeper_than(value, MAX_DEPTH):
            raise InvalidRun(f"an argument is nested deeper than {MAX_DEPTH} levels")
        for _, target in iterate_references(value):
            if not target.select:  # only whole values are learned
                yield ReferencedValue(parameter, target.task, target.pointer)


def _check_ids(tasks: Sequence[RunTask]) -> None:
    if not tasks:
        raise InvalidRun("it has no tasks")
    if len(tasks) > MAX_TASKS:
        raise InvalidRun(f"it has {len(tasks):,} tasks; at most {MAX_TASKS} are recorded")
    seen: set[str] = set()
    for task in tasks:
        if not task.id:
            raise InvalidRun("a task has no id")
        if task.id in seen:
            raise InvalidRun(f"two tasks have the id {quote_value(task.id)}")
        seen.add(task.id)


def _check_dependencies(dependencies: Mapping[str, set[str]]) -> None:
    for task, required in dependencies.items():
        for other in sorted(required - dependencies.keys()):
            raise InvalidRun(
                f"task {quote_value(task)} depends on {quote_value(other)}, which does not exist"
            )
        if task in required:
            raise InvalidRun(f"task {quote_value(task)} depends on itself")


def _sort_tasks(tasks: Sequence[RunTask], dependencies: Mapping[str, set[str]]) -> list[RunTask]:
    """Sort tasks after their dependencies, otherwise in their original order."""
    ordered: list[RunTask] = []
    done: set[str] = set()
    remaining = list(tasks)
    while remaining:
        ready = next((task for task in remaining if dependencies[task.id] <= done), None)
        if ready is None:
            cycle = ", ".join(quote_value(task.id) for task in remaining[:5])
            raise InvalidRun(f"tasks depend on each other: {cycle}")
        remaining.remove(ready)
        ordered.append(ready)
        done.add(ready.id)
    return ordered


def _task_number(task_id: str) -> int:
    return int(task_id[1:])
