"""Parses one task of a workflow, noting all problems."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from execution.planning.read_arguments import (
    ArgumentBudget,
    ArgumentsTooLarge,
    UnreadableArguments,
    find_reference_marks,
)
from execution.workflow import OnError, WorkflowTask
from gateway_project.foundation import canonical, selection
from gateway_project.foundation.references import (
    ITEM,
    POINTER,
    REFERENCE,
    SELECT,
    ReferenceMark,
    ReferenceTarget,
    is_reference_mark,
    parse_item,
    parse_literal,
    parse_reference,
)
from gateway_project.foundation.schema_problems import ArgumentProblem
from graph.exchange.document import quote_value

MAX_PROBLEMS: Final = 100
"""Problems noted individually; the rest are only counted."""
MAX_HINTS: Final = 10
"""Misspelt ids that get a suggestion, each from up to ten times as many ids."""
MAX_COMPARED_CHARS: Final = 60
"""Characters of ids compared; the cost is quadratic."""
MAX_QUOTED_INTEGER: Final = 10**15
"""Largest integer quoted in a message."""
TASK_KEYS: Final = ("id", "tool", "arguments", "depends_on", "for_each", "on_error", "timeout_s")
MAX_TASKS: Final = 1_000
MAX_ARGUMENT_BYTES: Final = 4 * 1024 * 1024
"""Approximate JSON size of all arguments together."""
MAX_VALUES: Final = 250_000
"""Values in all arguments together: texts, numbers, lists and objects."""
MAX_REFERENCES: Final = 10_000
"""References in all arguments together."""
MAX_DEPTH: Final = 100
"""Nesting levels of a task's arguments."""
MAX_DEPENDENCIES: Final = 50_000
"""Ids in `depends_on` of all tasks together."""
MAX_ID_CHARS: Final = 200
MAX_TIMEOUT_S: Final = 86_400.0
REFERENCE_FORM: Final = '{"$ref": task, "pointer": "/…"}'
ITEM_FORM: Final = '{"$item": "/…"}'


class ProblemList:
    """Collects problems."""

    def __init__(self) -> None:
        self._problems: list[ArgumentProblem] = []
        self._omitted_count = 0
        self._hint_count = 0

    def add(self, path: str, message: str, expected: str) -> None:
        """Add a problem; see `ArgumentProblem`."""
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(ArgumentProblem(path=path, message=message, expected=expected))
        else:
            self._omitted_count += 1

    def suggest_id(self, text: str, ids: Collection[str]) -> str:
        """Suggest a similar id for an unknown one; empty if none is similar."""
        self._hint_count += 1
        if self._hint_count > MAX_HINTS:
            return ""
        known = {task_id[:MAX_COMPARED_CHARS]: task_id for task_id in list(ids)[: 10 * MAX_HINTS]}
        near = difflib.get_close_matches(text[:MAX_COMPARED_CHARS], known, n=1)
        return f"; did you mean {quote_value(known[near[0]])}?" if near else ""

    def to_tuple(self) -> tuple[ArgumentProblem, ...]:
        """Return the problems, with a count of omitted ones."""
        if not self._omitted_count:
            return tuple(self._problems)
        more = ArgumentProblem(
            path="", message=f"{self._omitted_count:,} more problems", expected=""
        )
        return (*self._problems, more)


def read_task_id(raw: object) -> str:
    """Return the id of a raw task; empty if it has no usable one."""
    given = raw.get("id") if isinstance(raw, Mapping) else None
    is_good = isinstance(given, str) and given.isprintable() and given == given.strip()
    return str(given) if is_good and len(str(given)) <= MAX_ID_CHARS else ""


class TaskReader:
    """Parses the tasks of one workflow.

    Args:
        ids: Ids that may be depended on or referred to.
        problems: Collects the problems.
    """

    def __init__(self, ids: Collection[str], *, problems: ProblemList) -> None:
        self._ids = ids
        self._problems = problems
        self._budget: ArgumentBudget | None = ArgumentBudget(
            bytes_left=MAX_ARGUMENT_BYTES,
            values_left=MAX_VALUES,
            marks_left=MAX_REFERENCES,
            depth=MAX_DEPTH,
        )
        self._dependencies_left = MAX_DEPENDENCIES
        self._path = ""
        self._task_name = ""

    def read(self, raw: object, place: int) -> WorkflowTask | None:
        """Parse a task, omitting unreadable fields; None if it is not an object."""
        own = read_task_id(raw)
        self._path = f"/tasks/{place}"
        self._task_name = f"task {quote_value(own)}" if own else f"tasks[{place}]"
        if not isinstance(raw, Mapping):
            self._note_problem("", f"must be an object, not {describe_type(raw)}", "object")
            return None
        self._check_keys(raw)
        if not own:
            self._note_bad_id(raw.get("id"))
        for_each = self._read_for_each(raw.get("for_each"))
        arguments, taken = self._read_arguments(raw.get("arguments", {}), raw.get("for_each"))
        targets = taken if for_each is None else [for_each.task, *taken]
        return WorkflowTask(
            id=own,
            tool=self._read_tool(raw.get("tool")),
            arguments=arguments,
            depends_on=tuple(dict.fromkeys(self._read_depends_on(raw.get("depends_on")))),
            references=tuple(dict.fromkeys(targets)),
            for_each=for_each,
            on_error=self._read_on_error(raw.get("on_error")),
            timeout_s=self._read_timeout_s(raw.get("timeout_s")),
        )

    def _note_problem(self, path: str, message: str, expected: str) -> None:
        joint = ": " if path else " "
        self._problems.add(self._path + path, f"{self._task_name}{joint}{message}", expected)

    def _check_keys(self, raw: Mapping[Any, Any]) -> None:
        for key in raw:
            if key not in TASK_KEYS:
                known = ", ".join(TASK_KEYS)
                path = canonical.build_pointer([str(key)[:MAX_COMPARED_CHARS]])
                self._note_problem(
                    path, f"{quote_value(key)} is not a known field; expected {known}", known
                )

    def _note_bad_id(self, given: object) -> None:
        expected = f"text of 1 to {MAX_ID_CHARS} printable characters"
        wrong = " has no id" if given in (None, "") else f": its id must be {expected}"
        self._problems.add(f"{self._path}/id", self._task_name + wrong, expected)

    def _read_tool(self, given: object) -> str:
        if isinstance(given, str) and given:
            return given
        found = (
            "is missing" if given in (None, "") else f"must be text, not {describe_type(given)}"
        )
        self._note_problem("/tool", f"its tool {found}", "id of a tool, server:tool")
        return ""

    def _read_depends_on(self, given: object) -> Iterator[str]:
        if given is None:
            return
        if not isinstance(given, list | tuple):
            self._note_problem(
                "/depends_on", f"must be an array, not {describe_type(given)}", "array of task ids"
            )
            return
        has_room = self._dependencies_left >= 0
        self._dependencies_left -= len(given)
        if self._dependencies_left < 0:
            if has_room:
                most = f"at most {MAX_DEPENDENCIES:,} ids"
                self._problems.add("/tasks", f"depends_on of all tasks have {most}", most)
            return
        for place, one in enumerate(given):
            if self._is_known_task(one, f"/depends_on/{place}", "depends_on names"):
                yield one

    def _is_known_task(self, given: object, path: str, names: str) -> bool:
        if isinstance(given, str) and given in self._ids:
            return True
        hint = self._problems.suggest_id(given, self._ids) if isinstance(given, str) else ""
        self._note_problem(
            path, f"{names} {describe_value(given)}, which is not a task{hint}", "id of a task"
        )
        return False

    def _read_for_each(self, given: object) -> ReferenceTarget | None:
        if given is None:
            return None
        target = parse_reference(given)
        if target is None:
            message = f"takes a reference to a list, {REFERENCE_FORM}, not {describe_type(given)}"
            self._note_problem("/for_each", f"for_each {message}", REFERENCE_FORM)
            return None
        return target if self._is_valid_reference(target, "/for_each", "for_each") else None

    def _is_valid_reference(self, target: ReferenceTarget, path: str, name: str) -> bool:
        """Whether a reference has a known task and a valid pointer; notes problems."""
        is_pointer = self._is_valid_pointer(target.pointer, f"{path}/{POINTER}")
        is_known = self._is_known_task(target.task, f"{path}/{REFERENCE}", f"{name} refers to")
        return is_known and is_pointer and self._is_valid_selection(target.select, path)

    def _is_valid_selection(self, expression: str, path: str) -> bool:
        if not expression:
            return True
        try:
            selection.check_selection(expression)
        except selection.InvalidSelection as error:
            message = f"{quote_value(expression)} is no JMESPath: {error}"
            self._note_problem(f"{path}/{SELECT}", message, "JMESPath expression")
            return False
        return True

    def _is_valid_pointer(self, pointer: str, path: str) -> bool:
        if canonical.is_pointer(pointer):
            return True
        message = (
            f'{quote_value(pointer)} is not a JSON pointer, such as "/items/0/id", or "" for all'
        )
        self._note_problem(path, message, "JSON pointer")
        return False

    def _read_arguments(
        self, given: object, for_each: object
    ) -> tuple[Mapping[str, Any], list[str]]:
        """Return the arguments, and the ids of the tasks that they refer to."""
        literal = parse_literal(given)
        meant = given if literal is None else literal.value
        is_reference = literal is None and is_reference_mark(given)
        if not isinstance(given, Mapping) or not isinstance(meant, Mapping) or is_reference:
            found = "a reference" if is_reference else describe_type(meant)
            self._note_problem(
                "/arguments", f"its arguments must be an object, not {found}", "object"
            )
            return {}, []
        found_marks = self._find_marks(given)
        return given, [
            task_id for mark in found_marks for task_id in self._read_mark(mark, for_each)
        ]

    def _find_marks(self, arguments: Mapping[str, Any]) -> list[ReferenceMark]:
        if self._budget is None:
            return []
        try:
            return find_reference_marks(arguments, self._budget)
        except ArgumentsTooLarge as error:
            self._budget = None
            self._note_too_large(error)
        except UnreadableArguments as error:
            where = f" at {quote_value(error.path)}" if error.path else ""
            self._note_problem(f"/arguments{error.path}", f"its arguments {error}{where}", "JSON")
        return []

    def _note_too_large(self, error: ArgumentsTooLarge) -> None:
        most = (
            f"at most {MAX_ARGUMENT_BYTES:,} bytes, {MAX_VALUES:,} values and "
            f"{MAX_REFERENCES:,} references"
        )
        way = "have tools pass large values to each other by reference or by file"
        message = f"the arguments of all tasks together {error}: {most}; {way}"
        self._problems.add("/tasks", message, most)

    def _read_mark(self, mark: ReferenceMark, for_each: object) -> Iterator[str]:
        path = f"/arguments{mark.path}"
        if parse_literal(mark.value) is not None:
            return
        target, item = parse_reference(mark.value), parse_item(mark.value)
        if target is not None:
            if self._is_valid_reference(target, path, f"its argument {quote_value(mark.path)}"):
                yield target.task
        elif item is None:
            forms = f"{REFERENCE_FORM} or {ITEM_FORM}"
            message = (
                f"at {quote_value(mark.path)} is not a reference; expected {forms}, or "
                "escape it as "
            )
            self._note_problem(path, message + '{"$literal": …}', forms)
        elif for_each is None:
            message = f"{ITEM} at {quote_value(mark.path)} is valid only in a task with for_each"
            self._note_problem(path, message, "a value, or for_each on the task")
        else:
            self._is_valid_pointer(item, f"{path}/{ITEM}")

    def _read_on_error(self, given: object) -> OnError | None:
        if given is None:
            return None
        words = [policy.value for policy in OnError]
        if isinstance(given, str) and given in words:
            return OnError(given)
        expected = f"{', '.join(words[:-1])} or {words[-1]}"
        self._note_problem(
            "/on_error", f"on_error must be {expected}, not {describe_value(given)}", expected
        )
        return None

    def _read_timeout_s(self, given: object) -> float | None:
        if given is None:
            return None
        most = MAX_TIMEOUT_S
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        if is_number and 0 < given <= most:  # type: ignore[operator] # no NaN is
            return float(given)  # type: ignore[arg-type]
        expected = f"seconds, more than 0 and at most {most:,.0f}"
        self._note_problem(
            "/timeout_s", f"timeout_s must be {expected}, not {describe_value(given)}", expected
        )
        return None


def describe_type(value: object) -> str:
    """Describe the JSON type of a value.

    Example:
        >>> describe_type([]), describe_type("a"), describe_type(None), describe_type(7)
        ('an array', 'text', 'null', 'a number')
    """
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "an array"
    if isinstance(value, str):
        return "text"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "a number" if is_number else quote_value(value)


def describe_value(value: object) -> str:
    """Quote a short value, or describe the type of a long one.

    Example:
        >>> describe_value("a"), describe_value(-1), describe_value([1])
        ("'a'", '-1', 'an array')
    """
    is_short = isinstance(value, float) or (
        isinstance(value, int) and abs(value) < MAX_QUOTED_INTEGER
    )
    return quote_value(value) if isinstance(value, str) or is_short else describe_type(value)
