"""How large and how deep a JSON value is, told without recursion and without reading all of it."""

from __future__ import annotations

import re
from typing import Any, Literal

Excess = Literal["deep", "large"]

PARSED_DEPTH = 190
"""Levels of a message of a server. Clients read 200, and what it holds may come to them with more
around it, such as the results of a run."""
MAX_TOKENS = 400_000
"""Looking at so many takes a fifth of a second, in which no other server is heard."""

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def measure(value: Any, *, max_depth: int, max_bytes: int) -> int | Excess:
    """Estimate the length of a value as JSON, or say which bound it breaks; stops at the first.

    Args:
        value: Any JSON value.
        max_depth: Levels of objects and arrays.
        max_bytes: Its length. Escapes, and other scripts than Latin, are not counted.

    Example:
        >>> measure({"a": [1, "b"]}, max_depth=2, max_bytes=100)
        18
        >>> measure([[[]]], max_depth=2, max_bytes=100)
        'deep'
        >>> measure(["x" * 200], max_depth=2, max_bytes=100)
        'large'
    """
    size = 0
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, dict | list):
            if depth > max_depth:
                return "deep"
            size += _own(item)
            inside = item.values() if isinstance(item, dict) else item
            waiting.extend((each, depth + 1) for each in inside)
        else:
            size += len(item) + 2 if isinstance(item, str) else 4
        if size > max_bytes:
            return "large"
    return size


def is_deep(document: bytes, *, max_depth: int = PARSED_DEPTH) -> bool:
    r"""Say whether a JSON document is nested deeper, as far as `MAX_TOKENS` allow to see.

    Example:
        >>> is_deep(b"[[[]]]", max_depth=2), is_deep(b'["[[[[["]', max_depth=2)
        (True, False)
    """
    opened = document.count(b"[") + document.count(b"{")
    if opened <= max_depth or 2 * opened + document.count(b'"') // 2 > MAX_TOKENS:
        return False
    depth = 0
    for token in _TOKEN.finditer(document):
        depth += _step(document[token.start()])
        if depth > max_depth:
            return True
    return False


def prune(document: bytes, *, max_depth: int = PARSED_DEPTH) -> bytes:
    """Return a JSON document with everything deeper replaced by null, so that it can be parsed.

    What is not JSON stays so.

    Example:
        >>> prune(b'{"a": [[1]], "b": 2}', max_depth=2)
        b'{"a": [null], "b": 2}'
    """
    kept: list[bytes] = []
    depth, start = 0, 0
    for token in _TOKEN.finditer(document):
        step = _step(document[token.start()])
        if step > 0 and depth == max_depth:
            kept.append(document[start : token.start()] + b"null")
        if step < 0 and depth == max_depth + 1:
            start = token.end()
        depth += step
    if depth <= max_depth:
        kept.append(document[start:])
    return b"".join(kept)


def _own(item: dict[str, Any] | list[Any]) -> int:
    """Length of an object's or array's own signs and keys."""
    if isinstance(item, list):
        return 2 + len(item)
    return 2 + sum(len(key) + 4 for key in item)


def _step(sign: int) -> int:
    """Levels a token goes down: 1, -1, or 0 for a string."""
    if sign in b"[{":
        return 1
    return -1 if sign in b"]}" else 0
