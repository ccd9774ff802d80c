"""What is new in the arguments of a call, compared with an earlier call of the same tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from gateway_project.runs.approval_text import single_line

MAX_VALUE_CHARS: Final = 300
MAX_CHANGES: Final = 50


@dataclass(frozen=True, kw_only=True)
class ArgumentChange:
    """An argument that differs.

    Attributes:
        name: Of the argument.
        kind: How it differs.
        before: Its earlier value as shortened JSON; empty: there was none.
        after: Its value now, likewise.
    """

    name: str
    kind: Literal["new", "changed", "gone"]
    before: str
    after: str


def compare_arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ArgumentChange]:
    """Return the arguments that differ, in the order of the call.

    Example:
        >>> [(one.name, one.kind) for one in compare_arguments({"a": 1, "b": 2}, {"a": 1, "c": 3})]
        [('c', 'new'), ('b', 'gone')]
        >>> compare_arguments({"a": 1}, {"a": True})[0].kind
        'changed'
    """
    found = []
    for name in (*after, *(name for name in before if name not in after)):
        was, now = _show(before, name), _show(after, name)
        if was != now:
            kind: Literal["new", "changed", "gone"] = "changed"
            if name not in before:
                kind = "new"
            elif name not in after:
                kind = "gone"
            found.append(
                ArgumentChange(
                    name=single_line(name), kind=kind, before=_shorten(was), after=_shorten(now)
                )
            )
    return found[:MAX_CHANGES]


def _show(arguments: Mapping[str, Any], name: str) -> str:
    if name not in arguments:
        return ""
    return json.dumps(arguments[name], ensure_ascii=False, sort_keys=True, default=str)


def _shorten(text: str) -> str:
    shown = single_line(text)
    return shown if len(shown) <= MAX_VALUE_CHARS else f"{shown[:MAX_VALUE_CHARS]}…"
