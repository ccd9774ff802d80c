"""Halves of surrogate pairs in JSON values: JSON has an escape for them, UTF-8 has no bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from gateway_project.foundation import canonical


def any_half(value: Any) -> bool:
    r"""Say whether a text or a key in a JSON value has half a surrogate pair; no recursion.

    O(values, and characters of texts that are not ASCII).

    Example:
        >>> any_half({"a": ["\ud83d"]}), any_half({"a": ["\U0001f600"]})
        (True, False)

    References:
        RFC 8259, section 8.2: what readers make of them cannot be foretold.
    """
    within = [value]
    while within:
        objects, arrays = canonical.containers(within)
        if _is_any_broken(chain(within, chain.from_iterable(objects))):
            return True
        members = (one.values() for one in objects)
        within = [*chain.from_iterable(arrays), *chain.from_iterable(members)]
    return False


def first_half(value: Any) -> str | None:
    r"""Return the JSON pointer to a text, or to an object with a key, that has half a pair.

    Example:
        >>> first_half({"a": [1, "\udc00"]}), first_half({"a": {"\ud83d": 1}}), first_half("a")
        ('/a/1', '/a', None)
    """
    if not any_half(value):
        return None
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        path, one = waiting.pop()
        if _is_any_broken((one, *(one if isinstance(one, Mapping) else ()))):
            return canonical.pointer(path)
        waiting.extend(((*path, step), item) for step, item in _members(one))
    return None


def _is_any_broken(values: Iterable[Any]) -> bool:
    try:
        "".join(one for one in values if isinstance(one, str) and not one.isascii()).encode()
    except UnicodeEncodeError:
        return True
    return False


def _members(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
