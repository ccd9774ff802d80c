"""What references see of the answer of a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def root(result: Mapping[str, Any]) -> Any:
    """Return the JSON value that pointers into a result start from.

    The structured content; else the JSON in the first block of text; else that text; else None.
    JSON that Python refuses, for its depth or the length of a number, is taken for text.

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
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text


def first_text(result: Mapping[str, Any]) -> str | None:
    """Return the first block of text of a result; None if it holds none."""
    blocks = result.get("content")
    for block in blocks if isinstance(blocks, list | tuple) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            return str(block["text"])
    return None


def _refused(word: str) -> Any:
    """Refuse NaN and infinities, which are no JSON."""
    raise ValueError(word)
