"""What is new in the arguments of a call, compared with an earlier call of the same tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from gateway_project.runs.approval_text import single_line

MAX_VALUE_CHARS: Final = 300
MAX_CHANGES: Final = 50


def compare_arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the arguments that differ, in the order of the call.

    Each has its `name`, its `kind` (`new`, `changed` or `gone`) and its values `before` and
    `after` as shortened JSON; empty: there was none.

    Example:
        >>> changes = compare_arguments({"a": 1, "b": 2}, {"a": 1, "c": 3})
        >>> [(one["name"], one["kind"]) for one in changes]
        [('c', 'new'), ('b', 'gone')]
        >>> compare_arguments({"a": 1}, {"a": True})[0]["kind"]
        'changed'
    """
    found = []
    for name in (*after, *(name for name in before if name not in after)):
        was, now = _show(before, name), _show(after, name)
        if was != now:
            kind = "new" if name not in before else "changed" if name in after else "gone"
            values = {"before": _shorten(was), "after": _shorten(now)}
            found.append({"name": single_line(name), "kind": kind, **values})
    return found[:MAX_CHANGES]


def _show(arguments: Mapping[str, Any], name: str) -> str:
    if name not in arguments:
        return ""
    return json.dumps(arguments[name], ensure_ascii=False, sort_keys=True, default=str)


def _shorten(text: str) -> str:
    shown = single_line(text)
    return shown if len(shown) <= MAX_VALUE_CHARS else f"{shown[:MAX_VALUE_CHARS]}…"
