"""Equality of JSON values as JSON Schema defines it: 1 equals 1.0, and true equals neither."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

MAX_SORTED_MEMBERS: Final = 1_000
"""Members of an object that are sorted; with more, their hashes are added up instead, since one
sort blocks all threads."""
_CHARACTERS_PER_STEP: Final = 4_096
_VALUES_PER_STEP: Final = 8

SpendSteps = Callable[[int], None]


def equality_key(value: Any, spend: SpendSteps = lambda _steps: None) -> str:
    """Return a key that two JSON values share exactly if they are equal.

    O(size of the value). The order of an object's members does not matter. The keys are texts,
    whose hashes an attacker cannot make collide, unlike those of numbers.

    Args:
        value: Any JSON value.
        spend: Called with the number of steps taken.

    Example:
        >>> equality_key({"a": 1, "b": [True]}) == equality_key({"b": [True], "a": 1.0})
        True
        >>> (equality_key(1) == equality_key(True), equality_key("1") == equality_key(1),
        ...  equality_key(["a", "b"]) == equality_key(["ab"]))
        (False, False, False)
    """
    if isinstance(value, str):  # most values that are compared
        spend(1 + len(value) // _CHARACTERS_PER_STEP)
        return _write_text(value)
    parts: list[str] = []
    _write_value(value, parts, spend)
    return "".join(parts)


def _write_value(value: Any, parts: list[str], spend: SpendSteps) -> None:
    if isinstance(value, Mapping):
        spend(1 + len(value) // _VALUES_PER_STEP)
        parts.append(_write_members(value, spend))
    elif isinstance(value, list | tuple):
        spend(1 + len(value) // _VALUES_PER_STEP)
        parts.append(f"[{len(value)}:")
        for item in value:
            if isinstance(item, Mapping | list | tuple):
                _write_value(item, parts, spend)
            else:
                parts.append(_write_scalar(item, spend))
    else:
        parts.append(_write_scalar(value, spend))


def _write_members(value: Mapping[Any, Any], spend: SpendSteps) -> str:
    members = (
        f"{_write_text(str(name))}{equality_key(item, spend)}" for name, item in value.items()
    )
    if len(value) <= MAX_SORTED_MEMBERS:
        return f"{{{len(value)}:{''.join(sorted(members))}"
    total = 0
    for member in members:
        spend(1)
        digest = hashlib.sha256(member.encode("utf-8", "surrogatepass")).digest()
        total += int.from_bytes(digest)
    return f"{{{len(value)}+{total:x};"


def _write_scalar(value: Any, spend: SpendSteps) -> str:
    if isinstance(value, str):
        if len(value) > _CHARACTERS_PER_STEP:
            spend(len(value) // _CHARACTERS_PER_STEP)
        return _write_text(value)
    if value is None or isinstance(value, bool):
        return f"{value};"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # In base 16, formatting an integer takes linear time.
    return f"{value:x};" if isinstance(value, int) else f"{value!r};"


def _write_text(value: str) -> str:
    return f"'{len(value)}:{value}"
