"""Render a call for the person who approves it, with nothing hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools import hidden_text
from tools.upstream import nesting

TEXT_LIMITS: Final = (300, 100, 30)
"""Limits of each text, tried in turn while the arguments as a whole are too long, so that long
texts are cut rather than the arguments after them."""
MAX_ARGUMENT_CHARS: Final = 2_000
"""Characters of all arguments in a question: as much as a dialog can show."""
MAX_SHOWN_CHARS: Final = 2 * MAX_ARGUMENT_CHARS
"""The same, with invisible characters escaped."""
MAX_NAME_LENGTH: Final = 200
"""Characters of a tool's name, which its server chooses."""
MAX_ITEMS: Final = 20
"""Items shown of one list or object."""
MAX_LEVELS: Final = 5
MAX_INDENT_LEVELS: Final = 8
"""Levels that are indented; with deeper ones a few values would take megabytes of spaces."""
MAX_DEPTH: Final = 200
"""Levels of arguments that are shown unshortened; no call has more."""
ARGUMENTS_GONE: Final = "they are no longer stored"
ARGUMENT_INDENT: Final = "    "
"""Indent of the arguments of a question: clients that render Markdown show a code block."""
_ODD_SPACE: Final = re.compile(r"[^\S \n\t]|[\u2800\ud800-\udfff]")
"""Unusual spaces, which look like others or like nothing, and unpaired surrogates."""
_LONG_SPACES: Final = re.compile(" {20,}")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.:/-]+")


def format_arguments(arguments: Mapping[str, Any] | None) -> str:
    r"""Return all arguments as indented JSON, with invisible characters escaped.

    Values deeper than `MAX_INDENT_LEVELS` are written on one line.

    Example:
        >>> print(format_arguments({"path": "a\u202eb"}))
        {
          "path": "a\u202eb"
        }
    """
    if arguments is None:
        return ARGUMENTS_GONE
    return _escape_invisible("".join(_iterate_indented(arguments, 1)))


def format_arguments_within(arguments: Mapping[str, Any], most: int) -> str | None:
    r"""Format arguments like `format_arguments`; None if that exceeds `most` characters.

    Stops at the limit, without building the large text.

    Example:
        >>> format_arguments_within({"a": []}, 100), format_arguments_within({"a": [1, 2, 3]}, 10)
        ('{\n  "a": []\n}', None)
    """
    if not isinstance(nesting.measure_value(arguments, max_depth=MAX_DEPTH, max_bytes=most), int):
        return None
    pieces, size = [], 0
    for piece in _iterate_indented(arguments, 1):
        size += len(piece)
        if size > most:
            return None
        pieces.append(piece)
    shown = _escape_invisible("".join(pieces))
    return shown if len(shown) <= most else None


def summarize_arguments(arguments: Mapping[str, Any] | None) -> tuple[str, bool]:
    """Return the arguments as one line of JSON for a dialog, and whether anything was left out.

    If they are too long as a whole, each long text and list is cut by itself, so that no
    argument is hidden by another.

    Example:
        >>> summarize_arguments({"path": "/x", "force": True})
        ('{"path": "/x", "force": true}', False)
    """
    if arguments is None:
        return ARGUMENTS_GONE, True
    text, left_out = _dump_bounded(arguments)
    collapsed = _LONG_SPACES.sub(lambda gap: f"… ({len(gap[0]):,} spaces) …", text)
    shown = _escape_invisible(collapsed)
    if len(shown) > MAX_SHOWN_CHARS:
        return f"{shown[:MAX_SHOWN_CHARS]}…", True
    return shown, left_out or collapsed != text


def write_question(
    tool: str, reason: str, arguments: Mapping[str, Any] | None, *, user: str, link: str = ""
) -> str:
    """Return the question that a client asks its user.

    Args:
        tool: Canonical id.
        reason: Why approval is needed.
        arguments: The arguments exactly as they would be sent.
        user: Name of the caller.
        link: URL of the approval's page; empty: there is none.
    """
    shown, left_out = summarize_arguments(arguments)
    more = f" (shortened; in full: {describe_ways_to_decide(link)})" if left_out else ""
    return (
        f"Foregate asks: may {quote_tool_name(tool)} be called for {single_line(user)}? It needs "
        "a person's "
        f"approval because {single_line(reason)}.\nArguments{more}:\n\n{ARGUMENT_INDENT}{shown}"
    )


def describe_ways_to_decide(link: str) -> str:
    """Return the ways to review pending calls and decide on them.

    Args:
        link: URL of a page of the console; empty: there is none.

    Example:
        >>> describe_ways_to_decide("")
        '`manage.py approvals`'
        >>> describe_ways_to_decide("http://c/approvals/1")
        'http://c/approvals/1 (to sign in: `manage.py open_console`) or `manage.py approvals`'
    """
    command = "`manage.py approvals`"
    return f"{link} (to sign in: `manage.py open_console`) or {command}" if link else command


def quote_tool_name(tool: str) -> str:
    """Return the name of a tool for a dialog, quoted if it could be read as prose.

    Example:
        >>> quote_tool_name("fs:rm"), quote_tool_name("fs:read? It only reads")
        ('fs:rm', '"fs:read? It only reads"')
    """
    if _PLAIN_NAME.fullmatch(tool) and len(tool) <= MAX_NAME_LENGTH:
        return tool
    shortened = tool if len(tool) <= MAX_NAME_LENGTH else f"{tool[:MAX_NAME_LENGTH]}…"
    return _escape_invisible(json.dumps(shortened, ensure_ascii=False))


def single_line(text: str) -> str:
    r"""Return a text on one line, with invisible characters escaped.

    Example:
        >>> single_line("a\nb\u202e")
        'a\\nb\\u202e'
    """
    return _escape_invisible(text).replace("\n", "\\n").replace("\t", "\\t")


def _dump_bounded(arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """Return arguments as JSON within the limit, and whether anything was left out."""
    if isinstance(
        nesting.measure_value(arguments, max_depth=MAX_DEPTH, max_bytes=MAX_ARGUMENT_CHARS), int
    ):
        text = json.dumps(arguments, ensure_ascii=False, default=str)
        if len(text) <= MAX_ARGUMENT_CHARS:
            return text, False
    for most in TEXT_LIMITS:
        shortener = _ValueShortener(most)
        text = json.dumps(
            shortener.shorten(arguments, MAX_LEVELS), ensure_ascii=False, default=str
        )
        if len(text) <= MAX_ARGUMENT_CHARS:
            return text, shortener.left_out
    return f"{text[:MAX_ARGUMENT_CHARS]}…", True


def _iterate_indented(value: Any, level: int) -> Iterator[str]:
    """Yield a value as pieces of JSON; the caller has indented the first line."""
    if level > MAX_INDENT_LEVELS or not value or not isinstance(value, Mapping | list | tuple):
        yield json.dumps(value, ensure_ascii=False, default=str)
        return
    start, end = "{}" if isinstance(value, Mapping) else "[]"
    line_start = "\n" + "  " * level
    yield start
    for number, key in enumerate(value):
        yield f",{line_start}" if number else line_start
        if isinstance(value, Mapping):
            yield f"{json.dumps(str(key), ensure_ascii=False)}: "
        yield from _iterate_indented(value[key] if isinstance(value, Mapping) else key, level + 1)
    yield line_start[:-2] + end


def _escape_invisible(text: str) -> str:
    """Escape characters that are invisible or look like others."""
    return _ODD_SPACE.sub(lambda found: f"\\u{ord(found[0]):04x}", hidden_text.reveal_hidden(text))


class _ValueShortener:
    """Shortens values, and records whether anything was left out.

    Args:
        most: Maximum characters of one text.
    """

    def __init__(self, most: int) -> None:
        self.left_out = False
        self._most = most

    def shorten(self, value: Any, levels: int) -> Any:
        """Return the value, shortened to at most `levels` levels."""
        if isinstance(value, str):
            return self._shorten_text(value)
        if isinstance(value, Mapping):
            return self._shorten_object(value, levels)
        if isinstance(value, list | tuple):
            return self._shorten_list(value, levels)
        return value

    def _shorten_text(self, value: str) -> str:
        if len(value) <= self._most:
            return value
        self.left_out = True
        return f"{value[: self._most]}… ({len(value):,} characters)"

    def _shorten_object(self, value: Mapping[str, Any], levels: int) -> Any:
        if not levels and value:
            self.left_out = True
            return f"({len(value):,} inside)"
        shown = {
            self._shorten_text(str(key)): self.shorten(item, levels - 1)
            for key, item in list(value.items())[:MAX_ITEMS]
        }
        if len(value) > MAX_ITEMS:
            self.left_out = True
            shown["…"] = f"({len(value) - MAX_ITEMS:,} more)"
        return shown

    def _shorten_list(self, value: list[Any] | tuple[Any, ...], levels: int) -> Any:
        if not levels and value:
            self.left_out = True
            return f"({len(value):,} inside)"
        shown = [self.shorten(item, levels - 1) for item in value[:MAX_ITEMS]]
        if len(value) > MAX_ITEMS:
            self.left_out = True
            shown.append(f"… ({len(value) - MAX_ITEMS:,} more)")
        return shown
