"""Replace what stands for something else in a task's arguments by what it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_project.foundation import canonical
from graph.references import as_item, as_literal, as_reference

MAX_DEPTH: Final = 100
"""Levels of arguments; what references bring in is not counted."""
NO_ITEM: Final = object()
"""Item of a task that runs once."""


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


def resolve(value: Any, *, results: Callable[[str], Any], item: Any = NO_ITEM) -> Any:
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

    Example:
        >>> resolve({"to": {"$ref": "a", "pointer": "/0"}}, results={"a": ["x"]}.__getitem__)
        {'to': 'x'}
    """
    return _Resolver(results, item).resolved(value, 0)


class _Resolver:
    """Replaces, for one item."""

    def __init__(self, results: Callable[[str], Any], item: Any) -> None:
        self._results = results
        self._item = item

    def resolved(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH and isinstance(value, Mapping | list | tuple):
            raise TooDeep(f"arguments are nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            return [self.resolved(one, depth + 1) for one in value]
        return value

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
        return _followed(gave, task, pointer)

    def _of_item(self, pointer: str) -> Any:
        if self._item is NO_ITEM:
            raise MissingReferent("", pointer, "the task runs once, not for each of a list")
        return _followed(self._item, "", pointer)


def _followed(gave: Any, task: str, pointer: str) -> Any:
    try:
        return canonical.resolve(gave, pointer)
    except canonical.PointerError as error:
        raise MissingReferent(task, pointer, str(error)) from None
