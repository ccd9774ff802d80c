"""The result of one check of `manage.py doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "failure"]
MAX_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check.

    Attributes:
        check: The subject of the check.
        verdict: ok, warning or failure.
        detail: One line; says what to do unless the verdict is ok.
        output: A server's last output before it failed, oldest line first.
    """

    check: str
    verdict: Verdict
    detail: str
    output: tuple[str, ...] = ()


def name_some(names: Sequence[str]) -> str:
    """List the first few of some names, and count the rest.

    Example:
        >>> name_some(["a", "b"]), name_some(list("abcdefg"))
        ('a, b', 'a, b, c, d, e and 2 more')
    """
    rest = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {rest} more" if rest > 0 else "")
