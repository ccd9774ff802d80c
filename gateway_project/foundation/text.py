"""Shortens texts and strips invisible characters before people and models see them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

ALLOWED_JOINERS: Final = frozenset("\u200c\u200d")
"""Invisible, but required by the scripts of Persian, Hindi and others."""


def shorten(text: str, length: int) -> str:
    """Return a text of at most `length` characters; an ellipsis marks where it was cut.

    Example:
        >>> shorten("abcdef", 4), shorten("abcd", 4)
        ('abc…', 'abcd')
    """
    return text if len(text) <= length else f"{text[: length - 1]}…"


def describe_duration(seconds: float) -> str:
    """Return a duration with its unit.

    Example:
        >>> [describe_duration(value) for value in (6e-05, 0.0123, 1.25, 75, 7_300)]
        ['less than 1 ms', '12 ms', '1.2 s', '1 min 15 s', '2 h 1 min']
    """
    if seconds < 1:
        return f"{seconds * 1_000:.0f} ms" if seconds >= 0.001 else "less than 1 ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3_600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3_600)} h {int(seconds % 3_600 // 60)} min"


def cut_at_word(text: str, most: int) -> str:
    """Return the beginning of a text, not cut in the middle of a word that fits into half of it.

    Args:
        text: Any text.
        most: Characters at most.

    Example:
        >>> cut_at_word("the server of git:show_commit", 18), cut_at_word("abcdef", 3)
        ('the server of', 'abc')
    """
    if len(text) <= most:
        return text
    begin = text[: most + 1]
    end = max(begin.rfind(" "), begin.rfind("\n"))
    return text[: end if end > most // 2 else most].rstrip()


def strip_invisible(text: str) -> str:
    r"""Strip control and invisible characters, which could hide words from a reader.

    Example:
        >>> strip_invisible("a\u202eb\x07c\nd")
        'abc\nd'
    """
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char for char in text if _is_visible(char))


def _is_visible(char: str) -> bool:
    return char in "\n\t" or char in ALLOWED_JOINERS or unicodedata.category(char)[0] != "C"


def strip_invisible_deep(value: Any) -> Any:
    r"""Strip invisible characters from all texts in a schema; names of fields are unchanged.

    Example:
        >>> strip_invisible_deep({"description": "x\u200by"})
        {'description': 'xy'}
    """
    if isinstance(value, str):
        return strip_invisible(value)
    if isinstance(value, Mapping):
        return {key: strip_invisible_deep(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strip_invisible_deep(item) for item in value]
    return value
