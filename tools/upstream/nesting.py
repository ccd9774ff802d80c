"""Measures size and depth of JSON values without recursion, stopping at the bound."""

from __future__ import annotations

import re
from typing import Any, Literal

ExceededBound = Literal["deep", "large"]

PARSED_DEPTH = 190
"""Maximum levels of a server's message. Clients parse 200, and its content may reach them nested
in other values, such as the results of a run."""
MAX_TOKENS = 400_000
"""Scanning this many takes 0.2 s, which blocks the event loop."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def measure_value(value: Any, *, max_depth: int, max_bytes: int) -> int | ExceededBound:
    """Estimate the length of a value as JSON, or return the first bound it exceeds.

    Args:
        value: Any JSON value.
        max_depth: Maximum levels of objects and arrays.
        max_bytes: Maximum length; escapes and multi-byte characters are not counted.

    Example:
        >>> measure_value({"a": [1, "b"]}, max_depth=2, max_bytes=100)
        18
        >>> measure_value([[[]]], max_depth=2, max_bytes=100)
        'deep'
        >>> measure_value(["x" * 200], max_depth=2, max_bytes=100)
        'large'
    """
    size = 0
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, dict | list):
            if depth > max_depth:
                return "deep"
            size += _own_length(item)
            inside = item.values() if isinstance(item, dict) else item
            waiting.extend((each, depth + 1) for each in inside)
        else:
            size += len(item) + 2 if isinstance(item, str) else 4
        if size > max_bytes:
            return "large"
    return size


def is_deep(document: bytes, *, max_depth: int = PARSED_DEPTH) -> bool:
    r"""Whether a JSON document is nested deeper; False for more than `MAX_TOKENS` tokens.

    Example:
        >>> is_deep(b"[[[]]]", max_depth=2), is_deep(b'["[[[[["]', max_depth=2)
        (True, False)
    """
    opened = document.count(b"[") + document.count(b"{")
    if opened <= max_depth or 2 * opened + document.count(b'"') // 2 > MAX_TOKENS:
        return False
    depth = 0
    for token in _TOKEN.finditer(document):
        depth += _depth_step(document[token.start()])
        if depth > max_depth:
            return True
    return False


def prune_document(document: bytes, *, max_depth: int = PARSED_DEPTH) -> bytes:
    """Replace everything deeper in a JSON document by null, so that it can be parsed.

    Invalid JSON stays invalid.

    Example:
        >>> prune_document(b'{"a": [[1]], "b": 2}', max_depth=2)
        b'{"a": [null], "b": 2}'
    """
    kept: list[bytes] = []
    depth, start = 0, 0
    for token in _TOKEN.finditer(document):
        step = _depth_step(document[token.start()])
        if step > 0 and depth == max_depth:
            kept.append(document[start : token.start()] + b"null")
        if step < 0 and depth == max_depth + 1:
            start = token.end()
        depth += step
    if depth <= max_depth:
        kept.append(document[start:])
    return b"".join(kept)


def _own_length(item: dict[str, Any] | list[Any]) -> int:
    """Return the length of an object's or array's own punctuation and keys."""
    if isinstance(item, list):
        return 2 + len(item)
    return 2 + sum(len(key) + 4 for key in item)


def _depth_step(sign: int) -> int:
    """Return the change of depth at a token: 1, -1, or 0 for a string."""
    if sign in b"[{":
        return 1
    return -1 if sign in b"]}" else 0
