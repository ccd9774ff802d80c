"""What a person reads before they approve a call: what it would do, nothing hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools import hidden_text
from tools.upstream import nesting

MAX_TEXTS: Final = (300, 100, 30)
"""Characters of one text among arguments that are too long as a whole; fewer where they still are,
so that a text is cut rather than what comes after it."""
MAX_ARGUMENTS: Final = 2_000
"""Characters of all arguments of a question: what a dialog can show."""
MAX_SHOWN: Final = 2 * MAX_ARGUMENTS
"""The same, with what nobody would see written out."""
MAX_NAME: Final = 200
"""Characters of a tool's name, which its server chooses."""
MAX_ITEMS: Final = 20
"""Items of one list or object."""
MAX_LEVELS: Final = 5
MAX_INDENTED: Final = 8
"""Levels of arguments that are indented: deeper, a few values would fill megabytes with spaces."""
MAX_DEPTH: Final = 200
"""Of arguments that are shown as they are; no call has deeper ones."""
UNKNOWN: Final = "they are not kept any more"
MARGIN: Final = "    "
"""Before the arguments of a question: a client that takes it for Markdown shows them so."""
_BLANK: Final = re.compile(r"[^\S \n\t]|[\u2800\ud800-\udfff]")
"""Spaces that pass for others or for nothing, and halves of characters, which no page can hold."""
_GAP: Final = re.compile(" {20,}")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.:/-]+")


def exact(arguments: Mapping[str, Any] | None) -> str:
    r"""Return all of the arguments as indented JSON, with what nobody would see written out.

    What lies deeper than `MAX_INDENTED` levels stands in one line.

    Example:
        >>> print(exact({"path": "a\u202eb"}))
        {
          "path": "a\u202eb"
        }
    """
    if arguments is None:
        return UNKNOWN
    return _visible("".join(_indented(arguments, 1)))


def exact_within(arguments: Mapping[str, Any], most: int) -> str | None:
    r"""Return what `exact` does; None where that has more than so many characters.

    It stops there, and makes no large text to find that out.

    Example:
        >>> exact_within({"a": []}, 100), exact_within({"a": [1, 2, 3]}, 10)
        ('{\n  "a": []\n}', None)
    """
    if not isinstance(nesting.measure(arguments, max_depth=MAX_DEPTH, max_bytes=most), int):
        return None
    pieces, size = [], 0
    for piece in _indented(arguments, 1):
        size += len(piece)
        if size > most:
            return None
        pieces.append(piece)
    shown = _visible("".join(pieces))
    return shown if len(shown) <= most else None


def short(arguments: Mapping[str, Any] | None) -> tuple[str, bool]:
    """Return the arguments as one line of JSON for a dialog, and whether anything was left out.

    Where they are too long as a whole, every long text and list is cut by itself, so that no
    argument hides behind another.

    Example:
        >>> short({"path": "/x", "force": True})
        ('{"path": "/x", "force": true}', False)
    """
    if arguments is None:
        return UNKNOWN, True
    text, left_out = _fitting(arguments)
    closed = _GAP.sub(lambda gap: f"… ({len(gap[0]):,} spaces) …", text)
    shown = _visible(closed)
    if len(shown) > MAX_SHOWN:
        return f"{shown[:MAX_SHOWN]}…", True
    return shown, left_out or closed != text


def question(
    tool: str, reason: str, arguments: Mapping[str, Any] | None, *, user: str, link: str = ""
) -> str:
    """Return what a client's user is asked.

    Args:
        tool: Canonical id.
        reason: Why they are asked.
        arguments: Exactly what would be sent.
        user: Whose call it is.
        link: Page that shows all of it; empty: there is none.
    """
    shown, left_out = short(arguments)
    more = f" (shortened; all of it: {link or 'manage.py approvals'})" if left_out else ""
    return (
        f"Foregate asks: may {name(tool)} be called for {line(user)}? A person has to say so, "
        f"since {line(reason)}.\nArguments{more}:\n\n{MARGIN}{shown}"
    )


def name(tool: str) -> str:
    """Return the name of a tool as a dialog can show it: quoted where it could pass for words.

    Example:
        >>> name("fs:rm"), name("fs:read? It only reads")
        ('fs:rm', '"fs:read? It only reads"')
    """
    if _PLAIN_NAME.fullmatch(tool) and len(tool) <= MAX_NAME:
        return tool
    cut = tool if len(tool) <= MAX_NAME else f"{tool[:MAX_NAME]}…"
    return _visible(json.dumps(cut, ensure_ascii=False))


def line(text: str) -> str:
    r"""Return a text in one line, with what nobody would see written out.

    Example:
        >>> line("a\nb\u202e")
        'a\\nb\\u202e'
    """
    return _visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _fitting(arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """Return arguments as JSON that is short enough, and whether anything was left out."""
    if isinstance(nesting.measure(arguments, max_depth=MAX_DEPTH, max_bytes=MAX_ARGUMENTS), int):
        text = json.dumps(arguments, ensure_ascii=False, default=str)
        if len(text) <= MAX_ARGUMENTS:
            return text, False
    for most in MAX_TEXTS:
        cut = _Cut(most)
        text = json.dumps(cut.of(arguments, MAX_LEVELS), ensure_ascii=False, default=str)
        if len(text) <= MAX_ARGUMENTS:
            return text, cut.left_out
    return f"{text[:MAX_ARGUMENTS]}…", True


def _indented(value: Any, level: int) -> Iterator[str]:
    """Yield the pieces of a value as JSON, whose first line is indented already."""
    if level > MAX_INDENTED or not value or not isinstance(value, Mapping | list | tuple):
        yield json.dumps(value, ensure_ascii=False, default=str)
        return
    start, end = "{}" if isinstance(value, Mapping) else "[]"
    line_start = "\n" + "  " * level
    yield start
    for number, key in enumerate(value):
        yield f",{line_start}" if number else line_start
        if isinstance(value, Mapping):
            yield f"{json.dumps(str(key), ensure_ascii=False)}: "
        yield from _indented(value[key] if isinstance(value, Mapping) else key, level + 1)
    yield line_start[:-2] + end


def _visible(text: str) -> str:
    """Write out what a reader would not see, or would take for something else."""
    return _BLANK.sub(lambda found: f"\\u{ord(found[0]):04x}", hidden_text.visible(text))


class _Cut:
    """Shortens a value and remembers whether anything was left out.

    Args:
        most: Characters of one text.
    """

    def __init__(self, most: int) -> None:
        self.left_out = False
        self._most = most

    def of(self, value: Any, levels: int) -> Any:
        """Return a value of at most so many levels, shortened."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return self._object(value, levels)
        if isinstance(value, list | tuple):
            return self._list(value, levels)
        return value

    def _text(self, value: str) -> str:
        if len(value) <= self._most:
            return value
        self.left_out = True
        return f"{value[: self._most]}… ({len(value):,} characters)"

    def _object(self, value: Mapping[str, Any], levels: int) -> Any:
        if not levels and value:
            self.left_out = True
            return f"({len(value):,} inside)"
        shown = {
            self._text(str(key)): self.of(one, levels - 1)
            for key, one in list(value.items())[:MAX_ITEMS]
        }
        if len(value) > MAX_ITEMS:
            self.left_out = True
            shown["…"] = f"({len(value) - MAX_ITEMS:,} more)"
        return shown

    def _list(self, value: list[Any] | tuple[Any, ...], levels: int) -> Any:
        if not levels and value:
            self.left_out = True
            return f"({len(value):,} inside)"
        shown = [self.of(one, levels - 1) for one in value[:MAX_ITEMS]]
        if len(value) > MAX_ITEMS:
            self.left_out = True
            shown.append(f"… ({len(value) - MAX_ITEMS:,} more)")
        return shown
