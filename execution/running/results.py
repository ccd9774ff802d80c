"""Result roots: what references see of a tool's answer, and its size in memory."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from sys import getsizeof
from typing import Any, Final, NamedTuple

from execution.planning.references import MediaRoot
from gateway_project.foundation import canonical, surrogates

MAX_DEPTH: Final = 180
"""Nesting levels of JSON in a text. Message parsers accept 200; the gateway's answers, and calls
that carry the value in arguments, wrap it in a few more."""
MAX_MEDIA_BLOCKS: Final = 1_000
"""Blocks of a result among which pictures are looked for."""
LARGE_BYTES: Final = 256 * 1024
"""Larger values are parsed off the event loop."""


class ResultRoot(NamedTuple):
    """The JSON value that pointers into a result start from.

    Attributes:
        value: The value.
        size_bytes: Approximate memory size, rather overestimated.
    """

    value: Any
    size_bytes: int


def extract_root(result: Mapping[str, Any]) -> Any:
    """Return the JSON value that pointers into a result start from.

    The structured content; else the JSON in the first text block; else that text; else None. JSON
    that no message could carry counts as text: more than `MAX_DEPTH` levels, an unpaired
    surrogate, or a number too large or too long.

    Args:
        result: A result of `tools/call`, raw.

    Example:
        >>> extract_root({"content": [{"type": "text", "text": '{"id": 7}'}]})
        {'id': 7}
        >>> extract_root({"content": [{"type": "text", "text": "7 rows"}],
        ...     "structuredContent": [7]})
        [7]
    """
    structured = result.get("structuredContent")
    if structured is not None:
        return structured
    text = find_first_text(result)
    if text is None:
        return None
    # Calling a Python hook lets other threads run while a large text is parsed.
    hook = _return_unchanged if len(text) > LARGE_BYTES else None
    try:
        value = json.loads(
            text, parse_constant=_reject_constant, parse_float=_parse_finite, object_hook=hook
        )
    except (ValueError, RecursionError):
        return text
    return text if _is_too_deep(value, text) or _has_lone_surrogate(value, text) else value


def _is_too_deep(value: Any, text: str) -> bool:
    opened = text.count("[") + text.count("{")
    return opened > MAX_DEPTH and canonical.is_deeper_than(value, MAX_DEPTH)


def _has_lone_surrogate(value: Any, text: str) -> bool:
    is_escaped = "\\ud" in text or "\\uD" in text
    return is_escaped and surrogates.has_lone_surrogate(value)


def measure_root(result: Mapping[str, Any]) -> ResultRoot:
    """Return the root of a result with its size. O(values of the root)."""
    value = extract_root(result)
    if _has_media(result):
        value = MediaRoot(value, list(list_blocks(result)))
    return ResultRoot(value, estimate_size_bytes(value))


def measure_small_root(result: Mapping[str, Any]) -> ResultRoot | None:
    """Return the root of a small result with its size; None if it is too large for the loop."""
    if (
        result.get("structuredContent") is None
        and len(find_first_text(result) or "") > LARGE_BYTES
    ):
        return None
    if _has_media(result):
        return measure_root(result)
    value = extract_root(result)
    size = estimate_size_bytes(value, limit=LARGE_BYTES)
    return None if size > LARGE_BYTES else ResultRoot(value, size)


def estimate_size_bytes(value: Any, *, limit: int | None = None) -> int:
    """Return the approximate memory size of a JSON value; iterative.

    Args:
        value: The value; shared parts count each time.
        limit: Stop once the size exceeds this; None: no limit.
    """
    size = 0
    waiting = [value]
    while waiting:
        current = waiting.pop()
        size += getsizeof(current)
        if isinstance(current, dict):
            size += sum(map(getsizeof, current))
            waiting.extend(current.values())
        elif isinstance(current, list | tuple):
            waiting.extend(current)
        if limit is not None and size > limit:
            break
    return size


def _has_media(result: Mapping[str, Any]) -> bool:
    return any(map(measure_media, islice(list_blocks(result), MAX_MEDIA_BLOCKS)))


def list_blocks(result: Mapping[str, Any]) -> Sequence[Any]:
    """Return the content blocks of a result."""
    blocks = result.get("content")
    return blocks if isinstance(blocks, list | tuple) else ()


def measure_media(block: Any) -> int:
    """Return the characters of base64 in a content block: a picture, audio or another blob.

    Example:
        >>> measure_media({"type": "image", "mimeType": "image/png", "data": "iVBO"})
        4
        >>> measure_media({"type": "text", "text": "iVBO"})
        0
    """
    if not isinstance(block, Mapping):
        return 0
    resource = block.get("resource")
    data = resource.get("blob") if isinstance(resource, Mapping) else block.get("data")
    return len(data) if isinstance(data, str) else 0


def find_first_text(result: Mapping[str, Any]) -> str | None:
    """Return the first text block of a result; None if it has none."""
    for block in list_blocks(result):
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            return str(block["text"])
    return None


def _parse_finite(text: str) -> float:
    """Parse a number; reject one that overflows to an infinity."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


def _reject_constant(word: str) -> Any:
    """Reject NaN and infinities, which are not JSON."""
    raise ValueError(word)


def _return_unchanged(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object unchanged."""
    return value
