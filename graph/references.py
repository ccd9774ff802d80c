"""What stands for something else in a task's arguments: references, items, escaped literals.

An object of exactly `$ref` and `pointer` stands for what another task gave, one of exactly `$item`
for the item of a list that the task runs for, and one of exactly `$literal` for what it holds,
in which nothing is replaced. All else stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from gateway_project.foundation import canonical

REFERENCE: Final = "$ref"
POINTER: Final = "pointer"
ITEM: Final = "$item"
LITERAL: Final = "$literal"
_FORMS: Final = (
    frozenset({REFERENCE, POINTER}),
    frozenset({ITEM}),
    frozenset({LITERAL}),
)


class Target(NamedTuple):
    """What a reference leads to.

    Attributes:
        task: Id of the task that gives it.
        pointer: JSON pointer into what that task gave; empty: all of it.
    """

    task: str
    pointer: str


class Literal(NamedTuple):
    """A value in which nothing is replaced."""

    value: Any


class Mark(NamedTuple):
    """An object that stands for something else, and where it is found.

    Attributes:
        path: JSON pointer to it.
        value: The object.
    """

    path: str
    value: Mapping[str, Any]


def reference(task: str, pointer: str) -> dict[str, Any]:
    """Return the object that stands for a place in what a task gave.

    Example:
        >>> reference("a", "/id")
        {'$ref': 'a', 'pointer': '/id'}
    """
    return {REFERENCE: task, POINTER: pointer}


def is_mark(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value has the form of a reference, an item or a literal, well made or not.

    Example:
        >>> is_mark({"$ref": 7, "pointer": ""}), is_mark({"$ref": "a"})
        (True, False)
    """
    return isinstance(value, Mapping) and len(value) <= len(_FORMS[0]) and set(value) in _FORMS


def as_reference(value: object) -> Target | None:
    """Return what a reference leads to; None for anything else.

    Example:
        >>> as_reference({"$ref": "a", "pointer": "/id"})
        Target(task='a', pointer='/id')
    """
    if not isinstance(value, Mapping) or len(value) != len(_FORMS[0]):
        return None
    task, pointer = value.get(REFERENCE), value.get(POINTER)
    if isinstance(task, str) and isinstance(pointer, str):
        return Target(task, pointer)
    return None


def as_item(value: object) -> str | None:
    """Return the JSON pointer into the item; None for anything else.

    Example:
        >>> as_item({"$item": "/name"})
        '/name'
    """
    if isinstance(value, Mapping) and len(value) == 1:
        pointer = value.get(ITEM)
        return pointer if isinstance(pointer, str) else None
    return None


def as_literal(value: object) -> Literal | None:
    """Return what is escaped; None for anything else.

    Example:
        >>> as_literal({"$literal": {"$item": ""}})
        Literal(value={'$item': ''})
    """
    if isinstance(value, Mapping) and len(value) == 1 and LITERAL in value:
        return Literal(value[LITERAL])
    return None


def escaped(value: Any) -> Any:
    """Return a value such that nothing in it stands for something else.

    Values are not nested deeper than Python recurses.

    Example:
        >>> escaped({"a": [{"$item": "/x"}]})
        {'a': [{'$literal': {'$item': '/x'}}]}
    """
    if isinstance(value, Mapping):
        if is_mark(value):
            return {LITERAL: value}
        return {name: escaped(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [escaped(item) for item in value]
    return value


def unescaped(value: Any) -> Any:
    """Return a value with literals as they are meant.

    Values are not nested deeper than Python recurses.

    Example:
        >>> unescaped([{"$literal": {"$item": "/x"}}])
        [{'$item': '/x'}]
    """
    literal = as_literal(value)
    if literal is not None:
        return literal.value
    if isinstance(value, Mapping):
        return {name: unescaped(item) for name, item in value.items()}
    return [unescaped(item) for item in value] if isinstance(value, list | tuple) else value


def marks(value: Any) -> Iterator[Mark]:
    """Yield all that stands for something else, in order; nothing that a literal holds.

    O(size of the value), at any depth, without recursion.
    """
    if is_mark(value):
        yield Mark("", value)
        return
    path: list[str | int] = []
    trail = [_members(value)]
    while trail:
        member = next(trail[-1], None)
        if member is None:
            trail.pop()
            del path[-1:]
            continue
        step, inner = member
        if is_mark(inner):
            yield Mark(canonical.pointer([*path, step]), inner)
        elif isinstance(inner, Mapping | list | tuple):
            path.append(step)
            trail.append(_members(inner))


def references(value: Any) -> Iterator[tuple[str, Target]]:
    """Yield all references in a value, each with the JSON pointer to where it is found.

    O(size of the value), at any depth, without recursion.

    Example:
        >>> list(references({"a": [1, {"$ref": "t", "pointer": "/x"}]}))
        [('/a/1', Target(task='t', pointer='/x'))]
    """
    for path, mark in marks(value):
        target = as_reference(mark)
        if target is not None:
            yield path, target


def _members(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        return iter(value.items())
    return enumerate(value) if isinstance(value, list | tuple) else iter(())
