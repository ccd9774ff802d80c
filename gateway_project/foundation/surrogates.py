"""Unpaired surrogates in JSON values: JSON can escape them, UTF-8 cannot encode them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from gateway_project.foundation import canonical


def has_lone_surrogate(value: Any) -> bool:
    r"""Whether a text or a key in a JSON value has an unpaired surrogate; no recursion.

    O(values, and characters of texts that are not ASCII).

    Example:
        >>> has_lone_surrogate({"a": ["\ud83d"]}), has_lone_surrogate({"a": ["\U0001f600"]})
        (True, False)

    References:
        RFC 8259, section 8.2: their interpretation by parsers is unpredictable.
    """
    current = [value]
    while current:
        objects, arrays = canonical.split_containers(current)
        if _has_broken_text(chain(current, chain.from_iterable(objects))):
            return True
        members = (item.values() for item in objects)
        current = [*chain.from_iterable(arrays), *chain.from_iterable(members)]
    return False


def find_lone_surrogate(value: Any) -> str | None:
    r"""Return the JSON pointer to a text, or to an object with a key, that has a lone surrogate.

    Example:
        >>> (find_lone_surrogate({"a": [1, "\udc00"]}), find_lone_surrogate({"a": {"\ud83d": 1}}),
        ...  find_lone_surrogate("a"))
        ('/a/1', '/a', None)
    """
    if not has_lone_surrogate(value):
        return None
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        path, item = pending.pop()
        if _has_broken_text((item, *(item if isinstance(item, Mapping) else ()))):
            return canonical.build_pointer(path)
        pending.extend(((*path, step), member) for step, member in _iterate_members(item))
    return None


def _has_broken_text(values: Iterable[Any]) -> bool:
    try:
        "".join(text for text in values if isinstance(text, str) and not text.isascii()).encode()
    except UnicodeEncodeError:
        return True
    return False


def _iterate_members(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
