"""Texts that PostgreSQL cannot hold, written so that it can, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

MARK: Final = "\x1a"
"""Stands before the four hex digits of a code that cannot be stored; SUBSTITUTE in ASCII."""
_UNSTORABLE: Final = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED: Final = re.compile("\x1a([0-9a-f]{4})")
_SUSPECT: Final = re.compile(r"\\u(?:0000|001a|d[89a-f])")


def stored(text: str) -> str:
    r"""Return a text as it is stored: NUL and lone surrogates escaped, all else as it is.

    No two texts are stored alike.

    Example:
        >>> stored("a\x00b")
        'a\x1a0000b'
    """
    return _UNSTORABLE.sub(lambda found: f"{MARK}{ord(found[0]):04x}", text)


def original(text: str) -> str:
    r"""Return what `stored` was given.

    Example:
        >>> original(stored("a\x00\ud800")) == "a\x00\ud800"
        True
    """
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if MARK in text else text


def stored_json(value: Any) -> str:
    r"""Return JSON that PostgreSQL can hold, its texts as `stored` would have them.

    Raises:
        ValueError: If JSON has no form for a number.

    Example:
        >>> stored_json({"a": 1})
        '{"a":1}'
    """
    text = _json(value)
    return _json(_deep(value)) if _SUSPECT.search(text) else text


def original_json(value: Any) -> Any:
    """Return what `stored_json` was given, from the value that was read."""
    if isinstance(value, str):
        return original(value)
    if isinstance(value, dict):
        return {original(key): original_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [original_json(item) for item in value]
    return value


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _deep(value: Any) -> Any:
    if isinstance(value, str):
        return stored(value)
    if isinstance(value, Mapping):
        return {stored(key): _deep(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_deep(item) for item in value]
    return value
