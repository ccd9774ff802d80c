"""Whether a JSON value is too large for the event loop, decided in bounded time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

MAX_LOOP_VALUES: Final = 1_000
"""Values that the event loop may traverse; in pure Python some 0.3 µs each, several times over."""
MAX_LOOP_CHARACTERS: Final = 64 * 1024
MAX_WRITE_CHARACTERS: Final = 512 * 1024
"""Characters that the event loop may encode, in some 2 ms, without traversing them in Python."""
_PLAIN_TYPES: Final = frozenset({int, float, bool, type(None)})


def is_larger_than(value: Any, *, values: int, characters: int) -> bool:
    """Whether a JSON value has more values, or more characters of text, than given.

    Keys count as characters. Stops as soon as a limit is exceeded: O(values), without recursion.

    Example:
        >>> is_larger_than({"a": [1, 2]}, values=3, characters=1)
        False
        >>> is_larger_than({"a": [1, 2]}, values=2, characters=1)
        True
        >>> is_larger_than(["ab"], values=3, characters=1)
        True
    """
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)  # checked first: each `isinstance` of an abstract class costs 0.2 µs
        if kind is str or isinstance(item, str):
            characters -= len(item)
        elif kind in _PLAIN_TYPES:
            continue
        elif kind is dict or isinstance(item, Mapping):
            values -= len(item)
            characters -= sum(map(len, item))
            pending.extend(item.values() if values >= 0 else ())
        elif isinstance(item, list | tuple):
            values -= len(item)
            pending.extend(item if values >= 0 else ())
        if values < 0 or characters < 0:
            return True
    return False


def is_small(value: Any) -> bool:
    """Whether a JSON value is small enough for the event loop to traverse."""
    return not is_larger_than(value, values=MAX_LOOP_VALUES, characters=MAX_LOOP_CHARACTERS)


def is_large_to_write(value: Any) -> bool:
    """Whether encoding a JSON value would block the event loop for too long."""
    return is_larger_than(value, values=MAX_LOOP_VALUES, characters=MAX_WRITE_CHARACTERS)


def collect_set_members(model: BaseModel) -> dict[str, Any]:
    """Return the members of a message that are set, without copying their values.

    Nested models, such as an error, are converted in the same way.
    """
    names = (name for name in type(model).model_fields if name in model.model_fields_set)
    members = {name: getattr(model, name) for name in names}
    return {
        name: collect_set_members(value) if isinstance(value, BaseModel) else value
        for name, value in members.items()
    }
