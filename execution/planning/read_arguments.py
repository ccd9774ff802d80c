"""Scans the arguments of a workflow's tasks within bounds, to find references."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway_project.foundation import canonical
from gateway_project.foundation.references import ReferenceMark, is_reference_mark, parse_literal

_NUMBER_BYTES: Final = 8
"""Approximate JSON length of a number; long integers count by their digits."""
_MAX_INTEGER_BITS: Final = 10_000
"""Maximum bits of an integer; Python formats at most 4,300 digits."""


class UnreadableArguments(ValueError):
    """The arguments cannot be read; the message completes "the arguments …".

    Attributes:
        path: JSON pointer into the arguments; empty: as a whole.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class ArgumentsTooLarge(UnreadableArguments):
    """All arguments together exceed the workflow's limits."""


@dataclass(kw_only=True)
class ArgumentBudget:
    """The remaining budget for the arguments of a workflow.

    Attributes:
        bytes_left: Approximate JSON bytes.
        values_left: Values.
        marks_left: References, items and literals.
        depth: Maximum nesting levels per task.
    """

    bytes_left: int
    values_left: int
    marks_left: int
    depth: int

    def take_value(self, length: int) -> None:
        """Account for one value.

        Raises:
            ArgumentsTooLarge: If the budget is exceeded.
        """
        self.bytes_left -= length
        self.values_left -= 1
        if self.bytes_left < 0:
            raise ArgumentsTooLarge("", "are too large")
        if self.values_left < 0:
            raise ArgumentsTooLarge("", "hold too many values")

    def take_mark(self) -> None:
        """Account for a reference, item or literal.

        Raises:
            ArgumentsTooLarge: If the budget is exceeded.
        """
        self.marks_left -= 1
        if self.marks_left < 0:
            raise ArgumentsTooLarge("", "hold too many references")


def find_reference_marks(
    arguments: Mapping[str, Any], budget: ArgumentBudget
) -> list[ReferenceMark]:
    """Return all references, items and literals in a task's arguments, in order.

    O(size of the arguments, up to the budget), iterative.

    Raises:
        ArgumentsTooLarge: If they exceed the budget.
        UnreadableArguments: If they are nested too deeply, or hold a value that JSON cannot
            represent.
    """
    found: list[ReferenceMark] = []
    path: list[str | int] = []
    trail = [_iterate_members(arguments, is_literal=is_reference_mark(arguments))]
    while trail:
        members, is_keyed, is_literal = trail[-1]
        member = next(members, None)
        if member is None:
            trail.pop()
            del path[-1:]
            continue
        step, value = member
        if is_keyed and not isinstance(step, str):
            raise UnreadableArguments(_format_path(path, step), "have a key that is not text")
        budget.take_value(_estimate_json_bytes(step, value, path))
        if not isinstance(value, Mapping | list | tuple):
            continue
        if not is_literal and is_reference_mark(value):
            budget.take_mark()
            found.append(ReferenceMark(canonical.build_pointer([*path, step]), value))
            if parse_literal(value) is None:
                continue
        if len(trail) >= budget.depth:
            raise UnreadableArguments("", f"are nested deeper than {budget.depth} levels")
        path.append(step)
        trail.append(_iterate_members(value, is_literal=is_literal or is_reference_mark(value)))
    return found


def _iterate_members(
    value: Any, *, is_literal: bool
) -> tuple[Iterator[tuple[Any, Any]], bool, bool]:
    if isinstance(value, Mapping):
        return iter(value.items()), True, is_literal
    return enumerate(value), False, is_literal


def _estimate_json_bytes(step: object, value: Any, path: list[str | int]) -> int:
    """Return the approximate JSON length of a value with its key, without its members."""
    if isinstance(value, str):
        value_bytes = _estimate_text_bytes(value, path, step)
    elif value is None or isinstance(value, bool | Mapping | list | tuple):
        value_bytes = 4
    elif isinstance(value, int) and value.bit_length() <= _MAX_INTEGER_BITS:
        value_bytes = _NUMBER_BYTES + value.bit_length() // 4
    elif isinstance(value, float) and math.isfinite(value):
        value_bytes = _NUMBER_BYTES
    else:
        raise UnreadableArguments(
            _format_path(path, step), "hold a value that JSON cannot represent"
        )
    return value_bytes + (_estimate_text_bytes(step, path) + 2 if isinstance(step, str) else 1)


def _estimate_text_bytes(text: str, path: list[str | int], *step: Any) -> int:
    if text.isascii():
        return len(text) + 2
    try:
        return len(text.encode()) + 2
    except UnicodeEncodeError:
        where = canonical.build_pointer([*path, *step]).encode("utf-8", "replace").decode()
        raise UnreadableArguments(where, "hold an unpaired surrogate") from None


def _format_path(path: list[str | int], step: object) -> str:
    return canonical.build_pointer([*path, str(step)])
