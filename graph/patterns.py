"""Finished runs, and the form that is alike for all that did the same in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from gateway_project.foundation import canonical
from graph.exchange.document import shown
from graph.references import references

MASK: Final = "*"
"""Stands in what is kept for a name that may be a value."""
MAX_NAME_CHARS: Final = 60
MAX_NAME_DIGITS: Final = 4
MAX_TASKS: Final = 100
MAX_ARGUMENTS: Final = 60
"""Arguments of a task that are looked at, and references of a task that are kept."""
MAX_KEY_CHARS: Final = 200
MAX_DEPTH: Final = 100
_VALUE_MARKS: Final = frozenset("@/\\")


class InvalidRun(ValueError):
    """A run that cannot be recorded; the message says what is wrong with it."""


class UnknownTool(InvalidRun):
    """A run of a tool that is not there.

    Attributes:
        tool: What the run calls it.
    """

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"no tool {shown(tool)}")


@dataclass(frozen=True, kw_only=True)
class RunTask:
    """A task of a finished run.

    Attributes:
        id: Unique in its run.
        tool: Primary key of the tool it called.
        arguments: What it was called with. What came from another task's result stands as
            `{"$ref": task, "pointer": "/…"}`, a literal that looks like that as
            `{"$literal": …}`.
        depends_on: Ids of tasks that had to end before; those referred to need not be named.
    """

    id: str
    tool: int
    arguments: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """A finished run of a workflow.

    Attributes:
        key: Unique in its team: a run of a key that is known is never counted again.
        intent: What was asked for.
        tasks: In the order they ran, as far as that is known.
        succeeded: Whether the whole workflow did.
        at: When it ended.
    """

    key: str
    intent: str
    tasks: tuple[RunTask, ...]
    succeeded: bool = True
    at: datetime


class Taken(NamedTuple):
    """A value that an argument takes from another task.

    Attributes:
        parameter: The argument, or the one it stands in.
        task: Id of the task that gives it.
        pointer: JSON pointer into that task's result.
    """

    parameter: str
    task: str
    pointer: str


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """What a run did, without what it did it with.

    Attributes:
        tasks: In an order in which they can run, called t1, t2 and so on in it.
        takes: What each of them takes from others, in the same order.
        ids: The new id of each task by the one it had.
    """

    tasks: tuple[RunTask, ...]
    takes: tuple[tuple[Taken, ...], ...]
    ids: Mapping[str, str]

    @property
    def tools(self) -> tuple[int, ...]:
        """Primary keys in that order; tools may recur."""
        return tuple(task.tool for task in self.tasks)


def workflow(tasks: Sequence[RunTask]) -> Workflow:
    """Return what tasks did, without values: alike for all that did the same.

    Tasks come in an order they can run in, as near as possible to the one given.

    Complexity: O(n²) for n tasks, of which there are at most `MAX_TASKS`.

    Raises:
        InvalidRun: If ids are missing or taken twice, a task waits for one that is not there, or
            tasks wait for each other.
    """
    _check_ids(tasks)
    takes = {task.id: tuple(_taken(task)) for task in tasks}
    waits = {
        task.id: set(task.depends_on) | {taken.task for taken in takes[task.id]} for task in tasks
    }
    _check_known(waits)
    order = _ordered(tasks, waits)
    ids = {task.id: f"t{place}" for place, task in enumerate(order, start=1)}
    return Workflow(
        tasks=tuple(
            RunTask(
                id=ids[task.id],
                tool=task.tool,
                depends_on=tuple(sorted((ids[one] for one in waits[task.id]), key=_number)),
            )
            for task in order
        ),
        takes=tuple(
            tuple(sorted({taken._replace(task=ids[taken.task]) for taken in takes[task.id]}))
            for task in order
        ),
        ids=ids,
    )


def document(done: Workflow, names: Mapping[int, str]) -> list[dict[str, Any]]:
    """Return a workflow as it is kept: tools by canonical id, no values.

    Names of arguments and steps of pointers that look like values are masked.

    Args:
        done: The workflow.
        names: Canonical id of each of its tools, by primary key.
    """
    return [
        {
            "id": task.id,
            "tool": names[task.tool],
            "depends_on": list(task.depends_on),
            "references": [
                taken._asdict() for taken in sorted(set(map(_masked, takes)))[:MAX_ARGUMENTS]
            ],
        }
        for task, takes in zip(done.tasks, done.takes, strict=True)
    ]


def workflow_hash(kept: Sequence[Mapping[str, Any]]) -> str:
    """Return a digest of a workflow as `document` has it."""
    return canonical.digest(list(kept))


def normal_intent(masked: str) -> str:
    """Return the form of an intent without its values by which it is known again.

    Example:
        >>> normal_intent("  Book a Flight.  ")
        'book a flight'
    """
    return " ".join(masked.casefold().split()).strip(" .!?…。！？")  # noqa: RUF001 - CJK marks


def is_name(text: str) -> bool:
    """Say whether a key of JSON looks like a name, and not like a value.

    A value has an `@` or a slash, many digits, or more than 60 characters. Places in lists are
    names.

    Example:
        >>> [is_name(one) for one in ("user_id", "0", "sha256", "ann@example.org", "170-555-0199")]
        [True, True, True, False, False]
    """
    digits = sum(one.isdigit() for one in text)
    if len(text) > MAX_NAME_CHARS or digits > MAX_NAME_DIGITS or not _VALUE_MARKS.isdisjoint(text):
        return False
    return 2 * digits <= len(text) or text.isdecimal()


def masked_pointer(pointer: str) -> str:
    """Return a JSON pointer with `*` for each step that looks like a value.

    Example:
        >>> masked_pointer("/users/ann@example.org/name")
        '/users/*/name'
    """
    steps = pointer.split("/")
    return "/".join(one if is_name(canonical.unescape(one)) else MASK for one in steps)


def _masked(taken: Taken) -> Taken:
    parameter = taken.parameter if is_name(taken.parameter) else MASK
    return taken._replace(parameter=parameter, pointer=masked_pointer(taken.pointer))


def _taken(task: RunTask) -> Iterator[Taken]:
    for parameter, value in task.arguments.items():
        if canonical.is_deeper(value, MAX_DEPTH):
            raise InvalidRun(f"an argument is nested deeper than {MAX_DEPTH} levels")
        for _, target in references(value):
            yield Taken(parameter, target.task, target.pointer)


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
            raise InvalidRun(f"two tasks have the id {shown(task.id)}")
        seen.add(task.id)


def _check_known(waits: Mapping[str, set[str]]) -> None:
    for task, wanted in waits.items():
        for other in sorted(wanted - waits.keys()):
            raise InvalidRun(f"task {shown(task)} waits for {shown(other)}, which is not there")
        if task in wanted:
            raise InvalidRun(f"task {shown(task)} waits for itself")


def _ordered(tasks: Sequence[RunTask], waits: Mapping[str, set[str]]) -> list[RunTask]:
    """Return tasks so that each stands after all it waits for, else as they are."""
    ordered: list[RunTask] = []
    done: set[str] = set()
    left = list(tasks)
    while left:
        ready = next((task for task in left if waits[task.id] <= done), None)
        if ready is None:
            circle = ", ".join(shown(task.id) for task in left[:5])
            raise InvalidRun(f"tasks wait for each other: {circle}")
        left.remove(ready)
        ordered.append(ready)
        done.add(ready.id)
    return ordered


def _number(task_id: str) -> int:
    return int(task_id[1:])
