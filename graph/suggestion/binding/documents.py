"""Find JSON objects in a text; each counts as one value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_OBJECT_CHARS = 2_000
MAX_UNCLOSED = 8
"""Unclosed objects after which the search stops."""
_OBJECT_START: Final = re.compile(r"\{\s{0,9}\"[^\"\\{}]{1,80}\"\s{0,9}:")
_BRACE_OR_STRING: Final = re.compile(r"[{}]|\"(?>(?:[^\"\\]++|\\.)*)\"")


def find_json_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the outermost JSON objects in a text, in order.

    Linear in the text. Unclosed objects are ignored.

    Example:
        >>> text = 'write {"a": {"b": 1}} to it'
        >>> [text[start:end] for start, end in find_json_spans(text)]
        ['{"a": {"b": 1}}']
    """
    position = unclosed = 0
    while unclosed < MAX_UNCLOSED and (opened := _OBJECT_START.search(text, position)) is not None:
        start = opened.start()
        end = _find_object_end(text, start)
        if end is None:
            position = opened.end()
            unclosed += 1
            continue
        yield start, end
        position = end


def _find_object_end(text: str, start: int) -> int | None:
    depth = 0
    for mark in _BRACE_OR_STRING.finditer(text, start, start + MAX_OBJECT_CHARS):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0:
            return mark.end()
    return None
