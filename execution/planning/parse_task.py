"""Read one task of a workflow, and note all that is wrong with it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from execution.planning.read_arguments import Budget, NotReadable, TooMuch, read
from execution.workflow import OnError, Reference, Task
from gateway_project.foundation import canonical
from gateway_project.foundation.schema_problems import Problem
from graph.exchange.document import shown
from graph.references import (
    ITEM,
    POINTER,
    REFERENCE,
    Mark,
    Target,
    as_item,
    as_literal,
    as_reference,
    is_mark,
)

MAX_PROBLEMS: Final = 100
"""Problems noted one by one; of the rest only how many there are."""
MAX_HINTS: Final = 10
"""Misspelt ids for which one is looked for that looks alike, among so many tens of ids."""
MAX_COMPARED: Final = 60
"""Characters of ids that are compared; comparing costs their square."""
MAX_TOLD: Final = 10**15
"""Integer that is repeated in a message."""
KEYS: Final = ("id", "tool", "arguments", "depends_on", "for_each", "on_error", "timeout_s")
REFERENCE_FORM: Final = '{"$ref": task, "pointer": "/…"}'
ITEM_FORM: Final = '{"$item": "/…"}'


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a workflow may be.

    Attributes:
        tasks: How many.
        argument_bytes: Of all arguments together, about, as JSON.
        values: Of all arguments together: texts, numbers, lists and objects.
        references: In all arguments together.
        depth: Levels that the arguments of a task are nested in.
        waits: Ids in the `depends_on` of all tasks together.
        id_chars: Length of an id.
        timeout_s: Of a task.
    """

    tasks: int = 1_000
    argument_bytes: int = 4 * 1024 * 1024
    values: int = 250_000
    references: int = 10_000
    depth: int = 100
    waits: int = 50_000
    id_chars: int = 200
    timeout_s: float = 86_400.0


class Problems:
    """What is wrong, as it is found."""

    def __init__(self) -> None:
        self._noted: list[Problem] = []
        self._beyond = 0
        self._hints = 0

    def note(self, path: str, message: str, expected: str) -> None:
        """Note one thing that is wrong; see `Problem`."""
        if len(self._noted) < MAX_PROBLEMS:
            self._noted.append(Problem(path=path, message=message, expected=expected))
        else:
            self._beyond += 1

    def alike(self, text: str, ids: Collection[str]) -> str:
        """Return a hint at the id that a text may be meant for; empty if none is near."""
        self._hints += 1
        if self._hints > MAX_HINTS:
            return ""
        known = {one[:MAX_COMPARED]: one for one in list(ids)[: 10 * MAX_HINTS]}
        near = difflib.get_close_matches(text[:MAX_COMPARED], known, n=1)
        return f"; did you mean {shown(known[near[0]])}?" if near else ""

    def all(self) -> tuple[Problem, ...]:
        """Return what was noted, and how much there is beside."""
        if not self._beyond:
            return tuple(self._noted)
        more = Problem(path="", message=f"{self._beyond:,} more are wrong", expected="")
        return (*self._noted, more)


def id_of(raw: object, limits: Limits) -> str:
    """Return the id of a task as it is given; empty if there is none that can be used."""
    given = raw.get("id") if isinstance(raw, Mapping) else None
    is_good = isinstance(given, str) and given.isprintable() and given == given.strip()
    return str(given) if is_good and len(str(given)) <= limits.id_chars else ""


class TaskReader:
    """Reads the tasks of one workflow.

    Args:
        ids: Of all tasks that may be waited for or referred to.
        problems: What is wrong is noted here.
        limits: What the workflow may be.
    """

    def __init__(self, ids: Collection[str], *, problems: Problems, limits: Limits) -> None:
        self._ids = ids
        self._problems = problems
        self._limits = limits
        self._budget: Budget | None = Budget(
            bytes_left=limits.argument_bytes,
            values_left=limits.values,
            marks_left=limits.references,
            depth=limits.depth,
        )
        self._waits_left = limits.waits
        self._path = ""
        self._name = ""

    def read(self, raw: object, place: int) -> Task | None:
        """Return a task, without what could not be read; None if it is no object."""
        own = id_of(raw, self._limits)
        self._path = f"/tasks/{place}"
        self._name = f"task {shown(own)}" if own else f"tasks[{place}]"
        if not isinstance(raw, Mapping):
            self._note("", f"must be an object, not {what(raw)}", "object")
            return None
        self._known_keys(raw)
        if not own:
            self._bad_id(raw.get("id"))
        for_each = self._for_each(raw.get("for_each"))
        arguments, taken = self._arguments(raw.get("arguments", {}), raw.get("for_each"))
        targets = taken if for_each is None else [for_each.task, *taken]
        return Task(
            id=own,
            tool=self._tool(raw.get("tool")),
            arguments=arguments,
            depends_on=tuple(dict.fromkeys(self._depends_on(raw.get("depends_on")))),
            references=tuple(dict.fromkeys(targets)),
            for_each=for_each,
            on_error=self._on_error(raw.get("on_error")),
            timeout_s=self._timeout_s(raw.get("timeout_s")),
        )

    def _note(self, path: str, message: str, expected: str) -> None:
        joint = ": " if path else " "
        self._problems.note(self._path + path, f"{self._name}{joint}{message}", expected)

    def _known_keys(self, raw: Mapping[Any, Any]) -> None:
        for key in raw:
            if key not in KEYS:
                known = ", ".join(KEYS)
                path = canonical.pointer([str(key)[:MAX_COMPARED]])
                self._note(path, f"{shown(key)} is not a known field; expected {known}", known)

    def _bad_id(self, given: object) -> None:
        expected = f"text of 1 to {self._limits.id_chars} printable characters"
        wrong = " has no id" if given in (None, "") else f": its id must be {expected}"
        self._problems.note(f"{self._path}/id", self._name + wrong, expected)

    def _tool(self, given: object) -> str:
        if isinstance(given, str) and given:
            return given
        found = "is missing" if given in (None, "") else f"must be text, not {what(given)}"
        self._note("/tool", f"its tool {found}", "id of a tool, server:tool")
        return ""

    def _depends_on(self, given: object) -> Iterator[str]:
        if given is None:
            return
        if not isinstance(given, list | tuple):
            self._note("/depends_on", f"must be an array, not {what(given)}", "array of task ids")
            return
        has_room = self._waits_left >= 0
        self._waits_left -= len(given)
        if self._waits_left < 0:
            if has_room:
                most = f"at most {self._limits.waits:,} ids"
                self._problems.note("/tasks", f"depends_on of all tasks have {most}", most)
            return
        for place, one in enumerate(given):
            if self._is_known(one, f"/depends_on/{place}", "depends_on names"):
                yield one

    def _is_known(self, given: object, path: str, names: str) -> bool:
        if isinstance(given, str) and given in self._ids:
            return True
        hint = self._problems.alike(given, self._ids) if isinstance(given, str) else ""
        self._note(path, f"{names} {told(given)}, which is no task{hint}", "id of a task")
        return False

    def _for_each(self, given: object) -> Reference | None:
        if given is None:
            return None
        target = as_reference(given)
        if target is None:
            message = f"takes a reference to a list, {REFERENCE_FORM}, not {what(given)}"
            self._note("/for_each", f"for_each {message}", REFERENCE_FORM)
            return None
        if not self._leads(target, "/for_each", "for_each"):
            return None
        return Reference(task=target.task, pointer=target.pointer)

    def _leads(self, target: Target, path: str, name: str) -> bool:
        """Whether a reference is sound: to a task there is, by a pointer that is one."""
        is_pointer = self._is_pointer(target.pointer, f"{path}/{POINTER}")
        is_known = self._is_known(target.task, f"{path}/{REFERENCE}", f"{name} refers to")
        return is_known and is_pointer

    def _is_pointer(self, pointer: str, path: str) -> bool:
        if canonical.is_pointer(pointer):
            return True
        message = f'{shown(pointer)} is no JSON pointer, such as "/items/0/id", or "" for all'
        self._note(path, message, "JSON pointer")
        return False

    def _arguments(self, given: object, for_each: object) -> tuple[Mapping[str, Any], list[str]]:
        """Return the arguments and the ids of the tasks that they refer to."""
        literal = as_literal(given)
        meant = given if literal is None else literal.value
        is_reference = literal is None and is_mark(given)
        if not isinstance(given, Mapping) or not isinstance(meant, Mapping) or is_reference:
            found = "a reference" if is_reference else what(meant)
            self._note("/arguments", f"its arguments must be an object, not {found}", "object")
            return {}, []
        found_marks = self._marks(given)
        return given, [one for mark in found_marks for one in self._mark(mark, for_each)]

    def _marks(self, arguments: Mapping[str, Any]) -> list[Mark]:
        if self._budget is None:
            return []
        try:
            return read(arguments, self._budget)
        except TooMuch as error:
            self._budget = None
            self._too_much(error)
        except NotReadable as error:
            where = f" at {shown(error.path)}" if error.path else ""
            self._note(f"/arguments{error.path}", f"its arguments {error}{where}", "JSON")
        return []

    def _too_much(self, error: TooMuch) -> None:
        limits = self._limits
        most = (
            f"at most {limits.argument_bytes:,} bytes, {limits.values:,} values and "
            f"{limits.references:,} references"
        )
        way = "let tools pass what is large to each other, by references or by files"
        message = f"the arguments of all tasks together {error}: {most}; {way}"
        self._problems.note("/tasks", message, most)

    def _mark(self, mark: Mark, for_each: object) -> Iterator[str]:
        path = f"/arguments{mark.path}"
        if as_literal(mark.value) is not None:
            return
        target, item = as_reference(mark.value), as_item(mark.value)
        if target is not None:
            if self._leads(target, path, f"its argument {shown(mark.path)}"):
                yield target.task
        elif item is None:
            forms = f"{REFERENCE_FORM} or {ITEM_FORM}"
            message = f"at {shown(mark.path)} is no reference; expected {forms}, or it escaped as "
            self._note(path, message + '{"$literal": …}', forms)
        elif for_each is None:
            message = f"{ITEM} at {shown(mark.path)} means nothing in a task without for_each"
            self._note(path, message, "a value, or for_each on the task")
        else:
            self._is_pointer(item, f"{path}/{ITEM}")

    def _on_error(self, given: object) -> OnError | None:
        if given is None:
            return None
        words = [one.value for one in OnError]
        if isinstance(given, str) and given in words:
            return OnError(given)
        expected = f"{', '.join(words[:-1])} or {words[-1]}"
        self._note("/on_error", f"on_error must be {expected}, not {told(given)}", expected)
        return None

    def _timeout_s(self, given: object) -> float | None:
        if given is None:
            return None
        most = self._limits.timeout_s
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        if is_number and 0 < given <= most:  # type: ignore[operator] # no NaN is
            return float(given)  # type: ignore[arg-type]
        expected = f"seconds, more than 0 and at most {most:,.0f}"
        self._note("/timeout_s", f"timeout_s must be {expected}, not {told(given)}", expected)
        return None


def what(value: object) -> str:
    """Say what kind of thing a value is.

    Example:
        >>> what([]), what("a"), what(None), what(7)
        ('an array', 'text', 'null', 'a number')
    """
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "an array"
    if isinstance(value, str):
        return "text"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "a number" if is_number else shown(value)


def told(value: object) -> str:
    """Write a value, or say what kind of thing it is where it is long.

    Example:
        >>> told("a"), told(-1), told([1])
        ("'a'", '-1', 'an array')
    """
    is_short = isinstance(value, float) or (isinstance(value, int) and abs(value) < MAX_TOLD)
    return shown(value) if isinstance(value, str) or is_short else what(value)
