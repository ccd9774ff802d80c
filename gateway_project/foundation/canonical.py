"""Canonical JSON, hashes of JSON values, JSON pointers."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

MAX_DEPTH = 200
MAX_INDEX_DIGITS = 18
_BAD_ESCAPE = re.compile(r"~(?![01])")
_PLAIN = frozenset({str, int, float, bool, type(None)})
_ARRAYS = frozenset({list, tuple})


class NotCanonical(ValueError):
    """A value that JSON cannot hold, or that is nested too deeply."""


class PointerError(LookupError):
    """A JSON pointer that is malformed or leads nowhere."""


def dumps(value: Any) -> str:
    """Write JSON in one canonical way: sorted keys, no spaces, shortest numbers.

    In the spirit of RFC 8785, with Python's own shortest form of floats and keys in order of
    code points. A float that is whole is written as an integer, so 1.0 and 1 hash alike.

    Raises:
        NotCanonical: For NaN, infinities, values JSON has no form for, or nesting beyond
            `MAX_DEPTH`.

    Example:
        >>> dumps({"b": [1.0, None], "a": "é"})
        '{"a":"é","b":[1,null]}'
    """
    normal = _normal(value, MAX_DEPTH)
    try:
        text = json.dumps(normal, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except ValueError as error:  # an integer of more digits than Python writes
        raise NotCanonical(str(error)) from None
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, in hex.

    Example:
        >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1.0})
        True
    """
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of a text, in hex; lone surrogates are taken as they are, not refused."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_deeper(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Say whether arrays and objects are nested in more than so many levels; no recursion.

    Example:
        >>> is_deeper([[1]], 1), is_deeper([[1]], 2)
        (True, False)
    """
    within: list[Any] = [value]
    for _ in range(levels + 1):
        objects, arrays = containers(within)
        if not objects and not arrays:
            return False
        members = (one.values() for one in objects)
        within = [*chain.from_iterable(arrays), *chain.from_iterable(members)]
    return True


def containers(
    values: Iterable[Any],
) -> tuple[list[Mapping[Any, Any]], list[list[Any] | tuple[Any, ...]]]:
    """Return the objects and the arrays among JSON values.

    Most values are neither, and plain objects and arrays are known by their type: to ask each
    whether it is a mapping would cost many times as much.

    Example:
        >>> containers([1, "a", {"b": 2}, [3]])
        ([{'b': 2}], [[3]])
    """
    holding = [one for one in values if type(one) not in _PLAIN]
    arrays = [one for one in holding if isinstance(one, list | tuple)]
    objects = [
        one
        for one in holding
        if type(one) is dict or (type(one) not in _ARRAYS and isinstance(one, Mapping))
    ]
    return objects, arrays


def resolve(document: Any, pointer: str) -> Any:
    """Follow a JSON pointer.

    Args:
        document: Any JSON value.
        pointer: Empty for the whole document, else `/`-separated tokens.

    Raises:
        PointerError: If the pointer is malformed or a token leads nowhere.

    Example:
        >>> resolve({"a": [{"b/c": 7}]}, "/a/0/b~1c")
        7

    References:
        RFC 6901, JavaScript Object Notation (JSON) Pointer.
    """
    if pointer == "":
        return document
    if not pointer.startswith("/"):
        raise PointerError(f"a pointer starts with '/': {pointer!r}")
    if _BAD_ESCAPE.search(pointer):
        raise PointerError(f"'~' is followed by 0 or 1 in a pointer: {pointer!r}")
    value = document
    for raw in pointer[1:].split("/"):
        value = _step(value, unescape(raw), pointer)
    return value


def pointer(steps: Iterable[str | int]) -> str:
    """Return the JSON pointer that leads along keys and places in lists.

    Example:
        >>> pointer(["a", 0, "b/c"])
        '/a/0/b~1c'
    """
    return "".join(f"/{escape(str(step))}" for step in steps)


def escape(key: str) -> str:
    """Return a key as a token of a JSON pointer.

    Example:
        >>> escape("a/b~c")
        'a~1b~0c'
    """
    return key.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """Return the key that a token of a JSON pointer stands for.

    Example:
        >>> unescape("a~1b~0c")
        'a/b~c'
    """
    return token.replace("~1", "/").replace("~0", "~")


def is_pointer(text: str) -> bool:
    """Say whether a text is a JSON pointer.

    Example:
        >>> [is_pointer(one) for one in ("", "/a/0", "a", "/a~2")]
        [True, True, False, False]
    """
    return (text == "" or text.startswith("/")) and _BAD_ESCAPE.search(text) is None


def _step(value: Any, key: str, pointer: str) -> Any:
    if isinstance(value, Mapping):
        if key in value:
            return value[key]
    elif (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and key.isascii()
        and key.isdigit()
        and len(key) <= MAX_INDEX_DIGITS
        and (key == "0" or not key.startswith("0"))
        and int(key) < len(value)
    ):
        return value[int(key)]
    raise PointerError(f"nothing at {key!r} of pointer {pointer!r}")


def _normal(value: Any, depth: int) -> Any:
    if depth < 0:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {_key(key): _normal(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item, depth - 1) for item in value]
    raise NotCanonical(f"JSON has no form for {type(value).__name__}")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotCanonical(f"a key must be a string, not {type(key).__name__}")
    return key


def _number(value: float) -> float | int:
    if not math.isfinite(value):
        raise NotCanonical(f"JSON has no form for {value}")
    return int(value) if value.is_integer() else value
