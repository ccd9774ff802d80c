"""Replace what stands for something else in a task's arguments by what it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_project.foundation import canonical
from graph.references import ITEM, LITERAL, REFERENCE, as_item, as_literal, as_reference

MAX_DEPTH: Final = 100
"""Levels of arguments; what references bring in is not counted."""
MAX_BYTES: Final = 64 * 1024 * 1024
"""What references may bring into one call together, as JSON, about: twice what a result may be.
The same may be referred to over and over, and a list holds the results of thousands of calls."""
MAX_VALUES: Final = 250_000
"""Likewise: texts, numbers, lists and objects. Judging so many takes a few tenths of a second, in
which no other run goes on."""
OUTSIDE_LISTS: Final = object()
"""Item of a task that runs once."""

_MARK_KEYS: Final = 2
"""Keys that an object which stands for something else has at most."""
_MARKS: Final = frozenset({REFERENCE, ITEM, LITERAL})
_HOLDERS: Final = (dict, list, tuple, Mapping)
"""Types that hold values; the common ones first, since asking an abstract one takes longest."""


class MissingReferent(LookupError):
    """What arguments refer to is not there.

    Attributes:
        code: Stable word for programs.
        task: Id of the task referred to; empty: the item.
        pointer: JSON pointer into what it gave.
        why: In plain words.
    """

    code = "missing_referent"

    def __init__(self, task: str, pointer: str, why: str) -> None:
        what = f"what task {task!r} gave" if task else "the item"
        place = f" at {pointer!r}" if pointer else ""
        super().__init__(f"nothing to take from {what}{place}: {why}")
        self.task = task
        self.pointer = pointer
        self.why = why


class TooDeep(ValueError):
    """A value nested in more than `MAX_DEPTH` levels; no workflow that was parsed holds one."""

    code = "invalid_workflow"


class TooLarge(ValueError):
    """What references bring in is more than one call may carry."""

    code = "arguments_too_large"

    def __init__(self) -> None:
        super().__init__(
            f"what the arguments refer to is more than {MAX_BYTES:,} bytes or {MAX_VALUES:,} "
            "values together; refer to less, or spread it over several tasks"
        )


def resolve(value: Any, *, results: Callable[[str], Any], item: Any = OUTSIDE_LISTS) -> Any:
    """Return a value with all that stands for something else replaced.

    What is brought in is shared, not copied, and nothing in it is replaced in turn: what a server
    answers is never read as a reference.

    Args:
        value: Arguments of a task, or its list.
        results: Gives what a task gave, as references see it; raises LookupError, with the reason
            as its argument, if it gave nothing.
        item: What the task runs for.

    Raises:
        MissingReferent: If something is not there.
        TooDeep: If the value is nested too deeply.
        TooLarge: If it would become too large.

    Example:
        >>> resolve({"to": {"$ref": "a", "pointer": "/0"}}, results={"a": ["x"]}.__getitem__)
        {'to': 'x'}
    """
    resolver = _Resolver(results, item)
    found = resolver.resolved(value, 0)
    if as_reference(value) is None:  # a task's list: each of its calls takes one item of it
        resolver.require_room()
    return found


class _Resolver:
    """Replaces, for one item."""

    def __init__(self, results: Callable[[str], Any], item: Any) -> None:
        self._results = results
        self._item = item
        self._brought: list[Any] = []

    def resolved(self, value: Any, depth: int) -> Any:
        if not isinstance(value, _HOLDERS):
            return value
        if depth > MAX_DEPTH:
            raise TooDeep(f"arguments are nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, list | tuple):
            return [self.resolved(one, depth + 1) for one in value]
        if len(value) <= _MARK_KEYS and not _MARKS.isdisjoint(value):
            return self._object(value, depth)
        return {key: self.resolved(one, depth + 1) for key, one in value.items()}

    def require_room(self) -> None:
        """Make sure that what was brought in is not too much.

        Raises:
            TooLarge: If it is.
        """
        sizes: dict[int, tuple[int, int]] = {}
        bytes_left, values_left = MAX_BYTES, MAX_VALUES
        for one in self._brought:
            if id(one) not in sizes:
                sizes[id(one)] = _measured(one, bytes_left=bytes_left, values_left=values_left)
            size, values = sizes[id(one)]
            bytes_left -= size
            values_left -= values
            if min(bytes_left, values_left) < 0:
                raise TooLarge

    def _object(self, value: Mapping[str, Any], depth: int) -> Any:
        literal = as_literal(value)
        if literal is not None:
            return literal.value
        target = as_reference(value)
        if target is not None:
            return self._of_task(target.task, target.pointer)
        pointer = as_item(value)
        if pointer is not None:
            return self._of_item(pointer)
        return {key: self.resolved(one, depth + 1) for key, one in value.items()}

    def _of_task(self, task: str, pointer: str) -> Any:
        try:
            gave = self._results(task)
        except LookupError as error:
            why = error.args[0] if error.args and error.args[0] != task else "it gave nothing"
            raise MissingReferent(task, pointer, str(why)) from None
        return self._bring(gave, task, pointer)

    def _of_item(self, pointer: str) -> Any:
        if self._item is OUTSIDE_LISTS:
            raise MissingReferent("", pointer, "the task runs once, not for each of a list")
        return self._bring(self._item, "", pointer)

    def _bring(self, gave: Any, task: str, pointer: str) -> Any:
        try:
            found = canonical.resolve(gave, pointer)
        except canonical.PointerError as error:
            raise MissingReferent(task, pointer, str(error)) from None
        self._brought.append(found)
        return found


def _measured(value: Any, *, bytes_left: int, values_left: int) -> tuple[int, int]:
    """Return the length of a value as JSON, about, and how many values it is; no recursion.

    Raises:
        TooLarge: As soon as either is more than is left.
    """
    size, count = 0, 1
    waiting: list[Any] = [[value]]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict):
            size += sum(map(len, holder))
            inside: Any = holder.values()
        else:
            inside = holder
        for one in inside:
            if isinstance(one, str):
                size += len(one) + 2
            elif isinstance(one, dict | list):
                size += 2
                count += len(one)
                waiting.append(one)
                if count > values_left:
                    raise TooLarge
            else:
                size += 4
        if size > bytes_left or count > values_left:
            raise TooLarge
    return size, count
