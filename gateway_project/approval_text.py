"""What a person reads before they approve a call: what it would do, nothing hidden."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tools import hidden_text

MAX_TEXT: Final = 300
"""Characters of one text among the arguments."""
MAX_ARGUMENTS: Final = 2_000
"""Characters of all arguments of a question: what a dialog can show."""
MAX_ITEMS: Final = 20
"""Items of one list or object."""
MAX_LEVELS: Final = 5
UNKNOWN: Final = "they are not kept any more"


def exact(arguments: Mapping[str, Any] | None) -> str:
    r"""Return all of the arguments as indented JSON, with what nobody would see written out.

    Example:
        >>> print(exact({"path": "a\u202eb"}))
        {
          "path": "a\u202eb"
        }
    """
    if arguments is None:
        return UNKNOWN
    return hidden_text.visible(json.dumps(arguments, indent=2, ensure_ascii=False, default=str))


def short(arguments: Mapping[str, Any] | None) -> tuple[str, bool]:
    """Return the arguments as one line of JSON for a dialog, and whether anything was left out.

    Every long text and list is cut by itself, so that no argument hides behind another.

    Example:
        >>> short({"path": "/x", "force": True})
        ('{"path": "/x", "force": true}', False)
    """
    if arguments is None:
        return UNKNOWN, True
    cut = _Cut()
    text = json.dumps(cut.of(arguments, MAX_LEVELS), ensure_ascii=False, default=str)
    if len(text) > MAX_ARGUMENTS:
        text, cut.left_out = f"{text[:MAX_ARGUMENTS]}…", True
    return hidden_text.visible(text), cut.left_out


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
    return hidden_text.visible(
        f"Foregate asks: may {tool} be called for {user}? A person has to say so, since {reason}."
        f"\nArguments{more}: {shown}"
    )


class _Cut:
    """Shortens a value and remembers whether anything was left out."""

    def __init__(self) -> None:
        self.left_out = False

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
        if len(value) <= MAX_TEXT:
            return value
        self.left_out = True
        return f"{value[:MAX_TEXT]}… ({len(value):,} characters)"

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
