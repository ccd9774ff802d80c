"""What references see of the answer of a tool, and how much memory that takes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from sys import getsizeof
from typing import Any, Final, NamedTuple

from gateway_project.foundation import canonical, surrogates

MAX_DEPTH: Final = 180
"""Levels of JSON in a text. Readers of messages take 200, and an answer of the gateway, or a call
in which the value stands in arguments, has some of its own around it."""
LARGE_BYTES: Final = 256 * 1024
"""What is larger is read apart from the event loop."""


class Root(NamedTuple):
    """The JSON value that pointers into a result start from.

    Attributes:
        value: The value.
        size: Bytes of memory that it takes, about, and rather too many.
    """

    value: Any
    size: int


def root(result: Mapping[str, Any]) -> Any:
    """Return the JSON value that pointers into a result start from.

    The structured content; else the JSON in the first block of text; else that text; else None.
    JSON that no message could carry is taken for text: nested in more than `MAX_DEPTH` levels,
    with half a surrogate pair, or a number too large or too long to be read.

    Args:
        result: A result of `tools/call`, raw.

    Example:
        >>> root({"content": [{"type": "text", "text": '{"id": 7}'}]})
        {'id': 7}
        >>> root({"content": [{"type": "text", "text": "7 rows"}], "structuredContent": [7]})
        [7]
    """
    structured = result.get("structuredContent")
    if structured is not None:
        return structured
    text = first_text(result)
    if text is None:
        return None
    # Reading calls no Python code by itself: no other thread would run before all of it is read.
    hook = _same if len(text) > LARGE_BYTES else None
    try:
        value = json.loads(text, parse_constant=_refused, parse_float=_finite, object_hook=hook)
    except (ValueError, RecursionError):
        return text
    return text if _is_too_deep(value, text) or _has_half_pair(value, text) else value


def _is_too_deep(value: Any, text: str) -> bool:
    opened = text.count("[") + text.count("{")
    return opened > MAX_DEPTH and canonical.is_deeper(value, MAX_DEPTH)


def _has_half_pair(value: Any, text: str) -> bool:
    is_escaped = "\\ud" in text or "\\uD" in text
    return is_escaped and surrogates.any_half(value)


def measured(result: Mapping[str, Any]) -> Root:
    """Return the root of a result, with its size. O(values of the root)."""
    value = root(result)
    return Root(value, size_of(value))


def measured_if_small(result: Mapping[str, Any]) -> Root | None:
    """Return the root of a result, with its size; None if that takes more than a moment."""
    if result.get("structuredContent") is None and len(first_text(result) or "") > LARGE_BYTES:
        return None
    value = root(result)
    size = size_of(value, most=LARGE_BYTES)
    return None if size > LARGE_BYTES else Root(value, size)


def size_of(value: Any, *, most: int | None = None) -> int:
    """Return the bytes of memory that a JSON value takes, about; no recursion.

    Args:
        value: The value; what is in it more than once counts each time.
        most: Once there are more the rest is not looked at; None: all is.
    """
    size = 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        size += getsizeof(one)
        if isinstance(one, dict):
            size += sum(map(getsizeof, one))
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        if most is not None and size > most:
            break
    return size


def first_text(result: Mapping[str, Any]) -> str | None:
    """Return the first block of text of a result; None if it holds none."""
    blocks = result.get("content")
    for block in blocks if isinstance(blocks, list | tuple) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            return str(block["text"])
    return None


def _finite(text: str) -> float:
    """Read a number; refuse what would become an infinity, for which JSON has no word."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


def _refused(word: str) -> Any:
    """Refuse NaN and infinities, which are no JSON."""
    raise ValueError(word)


def _same(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object as it is."""
    return value
