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
_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})
_EXACT_TYPES = _SCALAR_TYPES - {float}
"""Of values that are canonical as they are."""
_ARRAY_TYPES = frozenset({list, tuple})
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


class NotCanonicalizable(ValueError):
    """A value that JSON cannot represent, or that is nested too deeply."""


class PointerError(LookupError):
    """A JSON pointer that is malformed or leads nowhere."""


def dumps(value: Any) -> str:
    """Serialise a value as canonical JSON: sorted keys, no spaces, shortest numbers.

    In the spirit of RFC 8785, with Python's own shortest form of floats and keys in order of
    code points. A float with an integral value is written as an integer, so 1.0 and 1 hash alike.

    Raises:
        NotCanonicalizable: For NaN, infinities, values JSON cannot represent, or nesting beyond
            `MAX_DEPTH`.

    Example:
        >>> dumps({"b": [1.0, None], "a": "é"})
        '{"a":"é","b":[1,null]}'
    """
    normal = _normalise_value(value, MAX_DEPTH)
    try:
        text = _encode(normal)
    except ValueError as error:  # an integer with more digits than Python converts
        raise NotCanonicalizable(str(error)) from None
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def hash_json(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON, in hex.

    Example:
        >>> hash_json({"a": 1, "b": 2}) == hash_json({"b": 2, "a": 1.0})
        True
    """
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text, in hex; lone surrogates are accepted."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_deeper_than(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Whether arrays and objects are nested in more than `levels` levels; no recursion.

    Example:
        >>> is_deeper_than([[1]], 1), is_deeper_than([[1]], 2)
        (True, False)
    """
    current: list[Any] = [value]
    for _ in range(levels + 1):
        objects, arrays = split_containers(current)
        if not objects and not arrays:
            return False
        members = (item.values() for item in objects)
        current = [*chain.from_iterable(arrays), *chain.from_iterable(members)]
    return True


def split_containers(
    values: Iterable[Any],
) -> tuple[list[Mapping[Any, Any]], list[list[Any] | tuple[Any, ...]]]:
    """Return the objects and the arrays among JSON values.

    Scalars and plain containers are recognised by their exact type: `isinstance` with `Mapping`
    on every value would cost many times as much.

    Example:
        >>> split_containers([1, "a", {"b": 2}, [3]])
        ([{'b': 2}], [[3]])
    """
    containers = [value for value in values if type(value) not in _SCALAR_TYPES]
    arrays = [value for value in containers if isinstance(value, list | tuple)]
    objects = [
        value
        for value in containers
        if type(value) is dict or (type(value) not in _ARRAY_TYPES and isinstance(value, Mapping))
    ]
    return objects, arrays


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return the value that a JSON pointer leads to.

    Args:
        document: Any JSON value.
        pointer: Empty for the whole document, else `/`-separated tokens.

    Raises:
        PointerError: If the pointer is malformed or a token leads nowhere.

    Example:
        >>> resolve_pointer({"a": [{"b/c": 7}]}, "/a/0/b~1c")
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
        value = _follow_token(value, unescape_token(raw), pointer)
    return value


def build_pointer(steps: Iterable[str | int]) -> str:
    """Return the JSON pointer of a path of keys and array indexes.

    Example:
        >>> build_pointer(["a", 0, "b/c"])
        '/a/0/b~1c'
    """
    return "".join(f"/{escape_token(str(step))}" for step in steps)


def escape_token(key: str) -> str:
    """Escape a key as a token of a JSON pointer.

    Example:
        >>> escape_token("a/b~c")
        'a~1b~0c'
    """
    return key.replace("~", "~0").replace("/", "~1")


def unescape_token(token: str) -> str:
    """Return the key that a token of a JSON pointer encodes.

    Example:
        >>> unescape_token("a~1b~0c")
        'a/b~c'
    """
    return token.replace("~1", "/").replace("~0", "~")


def is_pointer(text: str) -> bool:
    """Whether a text is a JSON pointer.

    Example:
        >>> [is_pointer(text) for text in ("", "/a/0", "a", "/a~2")]
        [True, True, False, False]
    """
    return (text == "" or text.startswith("/")) and _BAD_ESCAPE.search(text) is None


def _follow_token(value: Any, key: str, pointer: str) -> Any:
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


def _normalise_value(value: Any, depth: int) -> Any:
    if depth < 0:
        raise NotCanonicalizable(f"nested deeper than {MAX_DEPTH} levels")
    if type(value) in _EXACT_TYPES:
        return value
    if isinstance(value, int | str):
        return value
    if isinstance(value, float):
        return _normalise_number(value)
    if isinstance(value, Mapping):
        return {
            _require_text_key(key): _normalise_value(item, depth - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_normalise_value(item, depth - 1) for item in value]
    raise NotCanonicalizable(f"JSON cannot represent {type(value).__name__}")


def _require_text_key(key: Any) -> str:
    if not isinstance(key, str):
        raise NotCanonicalizable(f"a key must be a string, not {type(key).__name__}")
    return key


def _normalise_number(value: float) -> float | int:
    if not math.isfinite(value):
        raise NotCanonicalizable(f"JSON cannot represent {value}")
    return int(value) if value.is_integer() else value
