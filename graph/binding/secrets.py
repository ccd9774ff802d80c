"""Tell what must not be learned, nor given to tools of servers that nobody trusts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from graph.binding.schemas import is_private_name
from graph.binding.value_patterns import SECRET, Kind

if TYPE_CHECKING:
    from graph.binding.schemas import Parameter

MAX_PARTS = 1_000
"""Parts of a value that are looked at; what has more is taken for one that holds a secret."""
TOLD_AS_SECRET: Final = frozenset({Kind.QUOTED, Kind.CODE, Kind.NUMBER, Kind.PHONE, Kind.TAG})
"""Kinds of values that are secrets where the intent calls them so: "the password 'x'"."""
_WORD: Final = re.compile(r"[^\s'\"`,;]+")
_CARD: Final = re.compile(r"(?<!\d)[2-6](?:[ -]?\d){12,18}(?!\d)")
_LOGIN: Final = re.compile(r"://[^\s/:@]{0,80}:[^\s/@]{1,80}@")


def is_learnable(parameter: Parameter | None, name: str, value: object) -> bool:
    """Whether a value that a run gave may be kept and told in later runs."""
    is_private = parameter.is_private if parameter else is_private_name(name)
    return not is_private and not holds_secret(value)


def holds_secret(value: Any) -> bool:
    """Whether a value is, or holds, what looks like a key, a token, a card or a password.

    Example:
        >>> holds_secret({"a": ["Bearer sk-abcdefgh12"]}), holds_secret("4111 1111 1111 1111")
        (True, True)
        >>> holds_secret({"password": "x"}), holds_secret(["a.txt", 1_700_000_000_000])
        (True, False)
    """
    waiting: list[Any] = [value]
    for _ in range(MAX_PARTS):
        if not waiting:
            return False
        one = waiting.pop()
        if isinstance(one, Mapping):
            if any(is_private_name(str(name)) and part for name, part in one.items()):
                return True
            waiting += [*one, *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
        elif not isinstance(one, bool | None) and looks_secret(str(one)):
            return True
    return True


def looks_secret(text: str) -> bool:
    """Whether a text holds a key, a token, a strong password, a card number or a login."""
    if any(SECRET.fullmatch(word[0]) for word in _WORD.finditer(text)):
        return True
    return _LOGIN.search(text) is not None or any(
        _is_card([int(digit) for digit in found[0] if digit.isdigit()])
        for found in _CARD.finditer(text)
    )


def _is_card(digits: list[int]) -> bool:
    """Whether the last digit checks the others (ISO/IEC 7812-1, the formula of Luhn)."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
