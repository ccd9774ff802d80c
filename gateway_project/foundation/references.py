"""Placeholders in a task's arguments: references, items and escaped literals.

An object with exactly the keys `$ref` and `pointer`, `select` or both is replaced by a value in
another task's result, one with exactly `$item` by a value in the item that a for-each task runs
for, and one with exactly `$literal` by its content, in which nothing is replaced. Everything else
is a plain value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from gateway_project.foundation import canonical

REFERENCE: Final = "$ref"
POINTER: Final = "pointer"
SELECT: Final = "select"
ITEM: Final = "$item"
LITERAL: Final = "$literal"
_MARK_KEYS: Final = (
    frozenset({REFERENCE, POINTER}),
    frozenset({REFERENCE, SELECT}),
    frozenset({REFERENCE, POINTER, SELECT}),
    frozenset({ITEM}),
    frozenset({LITERAL}),
)
MAX_MARK_KEYS: Final = max(map(len, _MARK_KEYS))


class ReferenceTarget(NamedTuple):
    """The target of a reference.

    Attributes:
        task: Id of the task whose result it is taken from.
        pointer: JSON pointer into that result; empty: all of it.
        select: JMESPath expression for a part of what is there; empty: all of it.
    """

    task: str
    pointer: str
    select: str = ""


class LiteralValue(NamedTuple):
    """A value in which nothing is replaced."""

    value: Any


class ReferenceMark(NamedTuple):
    """A placeholder and its location.

    Attributes:
        path: JSON pointer to it.
        value: The object.
    """

    path: str
    value: Mapping[str, Any]


def make_reference(task: str, pointer: str, select: str = "") -> dict[str, Any]:
    """Return a reference to a value in the result of a task, or to what is selected of it.

    Example:
        >>> make_reference("a", "/id")
        {'$ref': 'a', 'pointer': '/id'}
    """
    return {REFERENCE: task, POINTER: pointer, **({SELECT: select} if select else {})}


def is_reference_mark(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value has the keys of a placeholder; their values may be invalid.

    Example:
        >>> is_reference_mark({"$ref": 7, "pointer": ""}), is_reference_mark({"$ref": "a"})
        (True, False)
    """
    return isinstance(value, Mapping) and len(value) <= MAX_MARK_KEYS and set(value) in _MARK_KEYS


def parse_reference(value: object) -> ReferenceTarget | None:
    """Return the target of a reference; None for anything else.

    Example:
        >>> parse_reference({"$ref": "a", "pointer": "/id"})
        ReferenceTarget(task='a', pointer='/id', select='')
    """
    if not is_reference_mark(value) or REFERENCE not in value:
        return None
    task, pointer, select = value[REFERENCE], value.get(POINTER, ""), value.get(SELECT, "")
    if isinstance(task, str) and isinstance(pointer, str) and isinstance(select, str):
        if SELECT in value and not select:
            return None
        return ReferenceTarget(task, pointer, select)
    return None


def parse_item(value: object) -> str | None:
    """Return the JSON pointer into the item; None for anything else.

    Example:
        >>> parse_item({"$item": "/name"})
        '/name'
    """
    if isinstance(value, Mapping) and len(value) == 1:
        pointer = value.get(ITEM)
        return pointer if isinstance(pointer, str) else None
    return None


def parse_literal(value: object) -> LiteralValue | None:
    """Return the content of an escaped literal; None for anything else.

    Example:
        >>> parse_literal({"$literal": {"$item": ""}})
        LiteralValue(value={'$item': ''})
    """
    if isinstance(value, Mapping) and len(value) == 1 and LITERAL in value:
        return LiteralValue(value[LITERAL])
    return None


def escape_literals(value: Any) -> Any:
    """Return a value in which every object that looks like a placeholder is escaped.

    Recursive; the nesting of values must stay within Python's recursion limit.

    Example:
        >>> escape_literals({"a": [{"$item": "/x"}]})
        {'a': [{'$literal': {'$item': '/x'}}]}
    """
    if isinstance(value, Mapping):
        if is_reference_mark(value):
            return {LITERAL: value}
        return {name: escape_literals(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [escape_literals(item) for item in value]
    return value


def unescape_literals(value: Any) -> Any:
    """Return a value with each escaped literal replaced by its content.

    Recursive; the nesting of values must stay within Python's recursion limit.

    Example:
        >>> unescape_literals([{"$literal": {"$item": "/x"}}])
        [{'$item': '/x'}]
    """
    literal = parse_literal(value)
    if literal is not None:
        return literal.value
    if isinstance(value, Mapping):
        return {name: unescape_literals(item) for name, item in value.items()}
    return (
        [unescape_literals(item) for item in value] if isinstance(value, list | tuple) else value
    )


def iterate_marks(value: Any) -> Iterator[ReferenceMark]:
    """Yield all placeholders in order; none from inside a literal.

    O(size of the value), at any depth, without recursion.
    """
    if is_reference_mark(value):
        yield ReferenceMark("", value)
        return
    path: list[str | int] = []
    iterators = [_iterate_members(value)]
    while iterators:
        member = next(iterators[-1], None)
        if member is None:
            iterators.pop()
            del path[-1:]
            continue
        step, inner = member
        if is_reference_mark(inner):
            yield ReferenceMark(canonical.build_pointer([*path, step]), inner)
        elif isinstance(inner, Mapping | list | tuple):
            path.append(step)
            iterators.append(_iterate_members(inner))


def iterate_references(value: Any) -> Iterator[tuple[str, ReferenceTarget]]:
    """Yield all references in a value, each with the JSON pointer to it.

    O(size of the value), at any depth, without recursion.

    Example:
        >>> list(iterate_references({"a": [1, {"$ref": "t", "pointer": "/x"}]}))
        [('/a/1', ReferenceTarget(task='t', pointer='/x', select=''))]
    """
    for path, mark in iterate_marks(value):
        target = parse_reference(mark)
        if target is not None:
            yield path, target


def _iterate_members(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        return iter(value.items())
    return enumerate(value) if isinstance(value, list | tuple) else iter(())
