"""Escapes text that PostgreSQL cannot store."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

ESCAPE_MARK: Final = "\x1a"
"""Precedes the four hex digits of a code point that cannot be stored; SUBSTITUTE in ASCII."""
_UNSTORABLE: Final = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED: Final = re.compile("\x1a([0-9a-f]{4})")
_SUSPECT: Final = re.compile(r"\\u(?:0000|001a|d[89a-f])")


def escape_text(text: str) -> str:
    r"""Escape NUL and lone surrogates in a text.

    The encoding is injective.

    Example:
        >>> escape_text("a\x00b")
        'a\x1a0000b'
    """
    return _UNSTORABLE.sub(lambda found: f"{ESCAPE_MARK}{ord(found[0]):04x}", text)


def unescape_text(text: str) -> str:
    r"""Reverse `escape_text`.

    Example:
        >>> unescape_text(escape_text("a\x00\ud800")) == "a\x00\ud800"
        True
    """
    return (
        _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if ESCAPE_MARK in text else text
    )


def escape_json(value: Any) -> str:
    r"""Encode JSON that PostgreSQL can store, with its texts escaped as by `escape_text`.

    Raises:
        ValueError: If a number has no JSON form.

    Example:
        >>> escape_json({"a": 1})
        '{"a":1}'
    """
    text = _dump_json(value)
    return _dump_json(_escape_nested(value)) if _SUSPECT.search(text) else text


def unescape_json(value: Any) -> Any:
    """Reverse `escape_json` on a parsed value."""
    if isinstance(value, str):
        return unescape_text(value)
    if isinstance(value, dict):
        return {unescape_text(key): unescape_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unescape_json(item) for item in value]
    return value


def _dump_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _escape_nested(value: Any) -> Any:
    if isinstance(value, str):
        return escape_text(value)
    if isinstance(value, Mapping):
        return {escape_text(key): _escape_nested(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_escape_nested(item) for item in value]
    return value
