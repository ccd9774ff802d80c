"""Find JSON that stands in a text: it is one value, and not taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_OBJECT_CHARS = 2_000
MAX_UNCLOSED = 8
"""Braces without an end after which no more are looked for."""
_OPENED: Final = re.compile(r"\{\s{0,9}\"[^\"\\{}]{1,80}\"\s{0,9}:")
_MARK: Final = re.compile(r"[{}]|\"(?:[^\"\\]|\\.)*+\"")


def json_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where JSON objects stand in a text, the outermost ones, in order.

    Linear in the text. What is opened and never closed is none.

    Example:
        >>> text = 'write {"a": {"b": 1}} to it'
        >>> [text[start:end] for start, end in json_spans(text)]
        ['{"a": {"b": 1}}']
    """
    place = unclosed = 0
    while unclosed < MAX_UNCLOSED and (opened := _OPENED.search(text, place)) is not None:
        start = opened.start()
        end = _closed(text, start)
        if end is None:
            place = opened.end()
            unclosed += 1
            continue
        yield start, end
        place = end


def _closed(text: str, start: int) -> int | None:
    depth = 0
    for mark in _MARK.finditer(text, start, start + MAX_OBJECT_CHARS):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0:
            return mark.end()
    return None
