"""Detect secrets, which must not be learned or passed to untrusted servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from graph.suggestion.binding.schemas import is_private_name
from graph.suggestion.binding.value_patterns import SECRET

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter

MAX_PARTS = 1_000
"""Limit of parts of a value that are examined; a value with more counts as secret."""
_WORD: Final = re.compile(r"[^\s'\"`,;]+")
_CARD_NUMBER: Final = re.compile(r"(?<!\d)[2-6](?:[ -]?\d){12,18}(?!\d)")
_URL_CREDENTIALS: Final = re.compile(r"://[^\s/:@]{0,80}:[^\s/@]{1,80}@")


def is_learnable(parameter: ToolParameter | None, name: str, value: object) -> bool:
    """Whether a value from a run may be stored and reused in later runs."""
    is_private = parameter.is_private if parameter else is_private_name(name)
    return not is_private and not contains_secret(value)


def contains_secret(value: Any) -> bool:
    """Whether a value is or contains something like a key, a token, a card number or a password.

    Example:
        >>> (contains_secret({"a": ["Bearer sk-abcdefgh12"]}),
        ...  contains_secret("4111 1111 1111 1111"))
        (True, True)
        >>> contains_secret({"password": "x"}), contains_secret(["a.txt", 1_700_000_000_000])
        (True, False)
    """
    waiting: list[Any] = [value]
    for _ in range(MAX_PARTS):
        if not waiting:
            return False
        item = waiting.pop()
        if isinstance(item, Mapping):
            if any(is_private_name(str(name)) and part for name, part in item.items()):
                return True
            waiting += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
        elif not isinstance(item, bool | None) and has_secret_pattern(str(item)):
            return True
    return True


def has_secret_pattern(text: str) -> bool:
    """Whether a text contains a key, a token, a strong password, a card number or a login."""
    if any(SECRET.fullmatch(word[0]) for word in _WORD.finditer(text)):
        return True
    return _URL_CREDENTIALS.search(text) is not None or any(
        _is_card_number([int(digit) for digit in found[0] if digit.isdigit()])
        for found in _CARD_NUMBER.finditer(text)
    )


def _is_card_number(digits: list[int]) -> bool:
    """Whether the check digit is right (Luhn algorithm, ISO/IEC 7812-1)."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
