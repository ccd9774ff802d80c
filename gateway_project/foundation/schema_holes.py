"""Validates arguments with parts not known yet: only errors that hold whatever they will be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gateway_project.foundation.schema_steps import current_budget

KeywordCheck = Callable[[Any, Any, Any, Any], Any]
"""Check of one keyword as in jsonschema: validator, the keyword's value, instance, schema."""


class Hole:
    """Placeholder for a value that is not known yet.

    Example:
        >>> str(HOLE)
        '(known later)'
    """

    def __str__(self) -> str:
        return "(known later)"


HOLE: Final = Hole()

_VALUES_PER_STEP: Final = 16
_NON_MONOTONIC: Final = (
    *("const", "contains", "enum", "if", "not", "unevaluatedItems", "uniqueItems"),
)
"""Keywords by which filling a hole may make an invalid value valid."""


def tolerate_holes(checks: Mapping[str, KeywordCheck]) -> dict[str, KeywordCheck]:
    """Return checks that accept a hole everywhere.

    A check reports only errors that no value of the holes could solve. For a value with holes,
    `oneOf` requires at least one form to fit, like `anyOf`.

    Args:
        checks: Check by keyword.
    """
    tolerant = {keyword: _accept_holes(check) for keyword, check in checks.items()}
    tolerant["oneOf"] = _choose_by_holes(checks["oneOf"], checks["anyOf"])
    for keyword in _NON_MONOTONIC:
        tolerant[keyword] = _choose_by_holes(checks[keyword], _accept_any)
    return tolerant


def has_hole(value: Any, spend: Callable[[int], None] = lambda _steps: None) -> bool:
    """Whether a value contains a hole. O(size of the value), without recursion.

    Args:
        value: Any JSON value.
        spend: Called with the number of steps taken.

    Example:
        >>> has_hole({"a": [1, HOLE]}), has_hole({"a": [1]})
        (True, False)
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if item is HOLE:
            return True
        if isinstance(item, Mapping | list | tuple):
            spend(1 + len(item) // _VALUES_PER_STEP)
            pending.extend(item.values() if isinstance(item, Mapping) else item)
    return False


def _accept_holes(check: KeywordCheck) -> KeywordCheck:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return None if instance is HOLE else check(validator, value, instance, schema)

    return checked


def _choose_by_holes(strict: KeywordCheck, tolerant: KeywordCheck) -> KeywordCheck:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if instance is HOLE:
            return None
        check = tolerant if has_hole(instance, current_budget().spend) else strict
        return check(validator, value, instance, schema)

    return checked


def _accept_any(*_: Any) -> None:
    """Report no error."""
