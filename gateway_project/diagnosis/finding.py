"""What one check of `manage.py doctor` found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "failure"]
MAX_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one check found.

    Attributes:
        check: What was looked at.
        verdict: ok, warning or failure.
        detail: One line; where it is not ok, it says what to do.
    """

    check: str
    verdict: Verdict
    detail: str


def some(names: Sequence[str]) -> str:
    """Name a few of several.

    Example:
        >>> some(["a", "b"]), some(list("abcdefg"))
        ('a, b', 'a, b, c, d, e and 2 more')
    """
    rest = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {rest} more" if rest > 0 else "")
