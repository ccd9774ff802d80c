"""Resolves references in a task's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from gateway_project.foundation import canonical, selection
from gateway_project.foundation.references import (
    ITEM,
    LITERAL,
    MAX_MARK_KEYS,
    REFERENCE,
    ReferenceTarget,
    parse_item,
    parse_literal,
    parse_reference,
)

MAX_DEPTH: Final = 100
"""Nesting levels of arguments, not counting referenced values."""
MAX_BYTES: Final = 64 * 1024 * 1024
"""Approximate JSON size that references may bring into one call: twice the maximum of a result.
The same value may be referred to repeatedly, and a list may hold thousands of results."""
MAX_VALUES: Final = 250_000
"""Maximum number of values likewise; validating so many takes some tenths of a second, during
which no other run proceeds."""
NO_ITEM: Final = object()
"""Item of a task without `for_each`."""

_MARK_NAMES: Final = frozenset({REFERENCE, ITEM, LITERAL})
_CONTAINER_TYPES: Final = (dict, list, tuple, Mapping)
"""Container types, common ones first, since the abstract check is slowest."""


class MediaRoot(NamedTuple):
    """The root of a result with pictures, audio or other binary content.

    Attributes:
        value: What pointers start from.
        content: All content blocks, where pointers that begin with `/content/` lead unless the
            value has such a member.
    """

    value: Any
    content: list[Any]


class MissingReferent(LookupError):
    """A referenced value does not exist.

    Attributes:
        code: Stable error code.
        task: Id of the referenced task; empty: the item.
        pointer: JSON pointer into its result.
        reason: Reason in plain words.
    """

    code = "missing_referent"

    def __init__(self, task: str, pointer: str, why: str) -> None:
        what = f"the result of task {task!r}" if task else "the item"
        place = f" at {pointer!r}" if pointer else ""
        super().__init__(f"no value in {what}{place}: {why}")
        self.task = task
        self.pointer = pointer
        self.reason = why


class ArgumentsTooDeep(ValueError):
    """A value exceeds `MAX_DEPTH` levels; parsed workflows never do."""

    code = "invalid_workflow"


class ReferencedDataTooLarge(ValueError):
    """The referenced values exceed what one call may carry."""

    code = "arguments_too_large"

    def __init__(self) -> None:
        super().__init__(
            f"the values the arguments refer to exceed {MAX_BYTES:,} bytes or {MAX_VALUES:,} "
            "values in total; refer to less, or split it into several tasks"
        )


def resolve_references(value: Any, *, results: Callable[[str], Any], item: Any = NO_ITEM) -> Any:
    """Resolve all references, items and literals in a value.

    Referenced values are shared, not copied, and are not resolved in turn: a server's answer is
    never interpreted as a reference.

    Args:
        value: Arguments of a task, or its `for_each`.
        results: Returns a task's result root; raises LookupError, with the reason as its argument,
            if there is none.
        item: Current item of a for-each task.

    Raises:
        MissingReferent: If a referenced value does not exist.
        ArgumentsTooDeep: If the value is nested too deeply.
        ReferencedDataTooLarge: If the referenced values are too large.

    Example:
        >>> resolve_references({"to": {"$ref": "a", "pointer": "/0"}},
        ...     results={"a": ["x"]}.__getitem__)
        {'to': 'x'}
    """
    resolver = _ReferenceResolver(results, item)
    found = resolver.resolve_value(value, 0)
    if parse_reference(value) is None:  # a task's list: each of its calls takes one item of it
        resolver.require_within_limits()
    return found


class _ReferenceResolver:
    """Resolves references for one item."""

    def __init__(self, results: Callable[[str], Any], item: Any) -> None:
        self._results = results
        self._item = item
        self._inserted_values: list[Any] = []

    def resolve_value(self, value: Any, depth: int) -> Any:
        if not isinstance(value, _CONTAINER_TYPES):
            return value
        if depth > MAX_DEPTH:
            raise ArgumentsTooDeep(f"arguments are nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, list | tuple):
            return [self.resolve_value(member, depth + 1) for member in value]
        if len(value) <= MAX_MARK_KEYS and not _MARK_NAMES.isdisjoint(value):
            return self._resolve_object(value, depth)
        return {key: self.resolve_value(member, depth + 1) for key, member in value.items()}

    def require_within_limits(self) -> None:
        """Check the size of the inserted values.

        Raises:
            ReferencedDataTooLarge: If they are too large.
        """
        sizes: dict[int, tuple[int, int]] = {}
        bytes_left, values_left = MAX_BYTES, MAX_VALUES
        for value in self._inserted_values:
            if id(value) not in sizes:
                sizes[id(value)] = _measure_json(
                    value, bytes_left=bytes_left, values_left=values_left
                )
            size, values = sizes[id(value)]
            bytes_left -= size
            values_left -= values
            if min(bytes_left, values_left) < 0:
                raise ReferencedDataTooLarge

    def _resolve_object(self, value: Mapping[str, Any], depth: int) -> Any:
        literal = parse_literal(value)
        if literal is not None:
            return literal.value
        target = parse_reference(value)
        if target is not None:
            return self._resolve_task_result(target)
        pointer = parse_item(value)
        if pointer is not None:
            return self._resolve_item(pointer)
        return {key: self.resolve_value(one, depth + 1) for key, one in value.items()}

    def _resolve_task_result(self, target: ReferenceTarget) -> Any:
        task, pointer, expression = target
        try:
            root = self._results(task)
        except LookupError as error:
            why = error.args[0] if error.args and error.args[0] != task else "it has no result"
            raise MissingReferent(task, pointer, str(why)) from None
        found = self._resolve_pointer(root, task, pointer)
        if not expression:
            return found
        try:
            selected = selection.select_at_once(expression, found)
        except selection.InvalidSelection as error:
            raise MissingReferent(task, pointer, f"select: {error}") from None
        if selected is None:
            raise MissingReferent(task, pointer, "select finds nothing")
        self._inserted_values[-1] = selected
        return selected

    def _resolve_item(self, pointer: str) -> Any:
        if self._item is NO_ITEM:
            raise MissingReferent("", pointer, "the task runs once, not for each item of a list")
        return self._resolve_pointer(self._item, "", pointer)

    def _resolve_pointer(self, root: Any, task: str, pointer: str) -> Any:
        if isinstance(root, MediaRoot):
            value, content = root
            has_member = isinstance(value, Mapping) and "content" in value
            is_block = pointer.startswith("/content/") and not has_member
            root = {"content": content} if is_block else value
        try:
            found = canonical.resolve_pointer(root, pointer)
        except canonical.PointerError as error:
            raise MissingReferent(task, pointer, str(error)) from None
        self._inserted_values.append(found)
        return found


def _measure_json(value: Any, *, bytes_left: int, values_left: int) -> tuple[int, int]:
    """Return the approximate JSON length and the number of values; iterative.

    Raises:
        ReferencedDataTooLarge: As soon as either exceeds its limit.
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
        for member in inside:
            if isinstance(member, str):
                size += len(member) + 2
            elif isinstance(member, dict | list):
                size += 2
                count += len(member)
                waiting.append(member)
                if count > values_left:
                    raise ReferencedDataTooLarge
            else:
                size += 4
        if size > bytes_left or count > values_left:
            raise ReferencedDataTooLarge
    return size, count
