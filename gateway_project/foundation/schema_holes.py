"""Judge arguments of which parts are not known yet: only what is wrong whatever they will be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Check = Callable[[Any, Any, Any, Any], Any]
"""Of one keyword, as jsonschema has it: validator, the keyword's value, instance, schema."""


class Hole:
    """Stands for a value that is not known yet.

    Example:
        >>> str(HOLE)
        '(known later)'
    """

    def __str__(self) -> str:
        return "(known later)"


HOLE: Final = Hole()

_ALL_OR_NOTHING: Final = (
    *("const", "contains", "enum", "if", "not", "unevaluatedItems", "uniqueItems"),
)
"""Keywords by which a part that turns out otherwise may make a wrong whole right."""


def tolerant(checks: Mapping[str, Check]) -> dict[str, Check]:
    """Return the checks of a validator such that a hole fits everywhere.

    A check finds fault only with what no value of the holes can mend. Of the forms that a value
    with holes may have, one has to fit, also where one only may.

    Args:
        checks: By keyword.
    """
    found = {keyword: _passing_holes(check) for keyword, check in checks.items()}
    found["oneOf"] = _by_holes(checks["oneOf"], checks["anyOf"])
    for keyword in _ALL_OR_NOTHING:
        found[keyword] = _by_holes(checks[keyword], _accept)
    return found


def holds_hole(value: Any) -> bool:
    """Whether anything in a value is not known yet. O(size of the value), without recursion.

    Example:
        >>> holds_hole({"a": [1, HOLE]}), holds_hole({"a": [1]})
        (True, False)
    """
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if one is HOLE:
            return True
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
    return False


def _passing_holes(check: Check) -> Check:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return None if instance is HOLE else check(validator, value, instance, schema)

    return checked


def _by_holes(without: Check, within: Check) -> Check:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if instance is HOLE:
            return None
        check = within if holds_hole(instance) else without
        return check(validator, value, instance, schema)

    return checked


def _accept(*_: Any) -> None:
    """Find no fault."""
