"""Read the arguments of a workflow's tasks within bounds, and find the references in them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway_project.foundation import canonical
from graph.references import Mark, as_literal, is_mark

_NUMBER_BYTES: Final = 8
"""Length of a number as JSON, about; a long integer counts by its digits."""
_MAX_BITS: Final = 10_000
"""Of an integer; Python writes none of more than 4,300 digits."""


class NotReadable(ValueError):
    """Arguments that cannot be read; the message says why, as of "the arguments".

    Attributes:
        path: JSON pointer to where, in the arguments; empty: as a whole.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class TooMuch(NotReadable):
    """All arguments together are more than a workflow may have."""


@dataclass(kw_only=True)
class Budget:
    """What the arguments of a workflow may still take.

    Attributes:
        bytes_left: Of their length as JSON, about.
        values_left: Of the number of values.
        marks_left: Of the number of those that stand for something else.
        depth: Levels that each task's may be nested in.
    """

    bytes_left: int
    values_left: int
    marks_left: int
    depth: int

    def take(self, length: int) -> None:
        """Take one value.

        Raises:
            TooMuch: If it is beyond what is left.
        """
        self.bytes_left -= length
        self.values_left -= 1
        if self.bytes_left < 0:
            raise TooMuch("", "are too large")
        if self.values_left < 0:
            raise TooMuch("", "hold too many values")

    def take_mark(self) -> None:
        """Take a value that stands for something else.

        Raises:
            TooMuch: If it is beyond what is left.
        """
        self.marks_left -= 1
        if self.marks_left < 0:
            raise TooMuch("", "hold too many references")


def read(arguments: Mapping[str, Any], budget: Budget) -> list[Mark]:
    """Return all that stands for something else in a task's arguments, in order.

    O(size of the arguments, as far as the budget allows), without recursion.

    Args:
        arguments: Any mapping.
        budget: What is taken from it stays taken.

    Raises:
        TooMuch: If they are beyond the budget.
        NotReadable: If they are nested too deeply, or hold what JSON has no form for.
    """
    found: list[Mark] = []
    path: list[str | int] = []
    trail = [_open(arguments, is_literal=is_mark(arguments))]
    while trail:
        members, is_keyed, is_literal = trail[-1]
        member = next(members, None)
        if member is None:
            trail.pop()
            del path[-1:]
            continue
        step, value = member
        if is_keyed and not isinstance(step, str):
            raise NotReadable(_path(path, step), "have a key that is no text")
        budget.take(_length(step, value, path))
        if not isinstance(value, Mapping | list | tuple):
            continue
        if not is_literal and is_mark(value):
            budget.take_mark()
            found.append(Mark(canonical.pointer([*path, step]), value))
            if as_literal(value) is None:
                continue
        if len(trail) >= budget.depth:
            raise NotReadable("", f"are nested deeper than {budget.depth} levels")
        path.append(step)
        trail.append(_open(value, is_literal=is_literal or is_mark(value)))
    return found


def _open(value: Any, *, is_literal: bool) -> tuple[Iterator[tuple[Any, Any]], bool, bool]:
    if isinstance(value, Mapping):
        return iter(value.items()), True, is_literal
    return enumerate(value), False, is_literal


def _length(step: object, value: Any, path: list[str | int]) -> int:
    """Return the length of a value as JSON, about, its key and not its members included."""
    if isinstance(value, str):
        own = _text(value, path, step)
    elif value is None or isinstance(value, bool | Mapping | list | tuple):
        own = 4
    elif isinstance(value, int) and value.bit_length() <= _MAX_BITS:
        own = _NUMBER_BYTES + value.bit_length() // 4
    elif isinstance(value, float) and math.isfinite(value):
        own = _NUMBER_BYTES
    else:
        raise NotReadable(_path(path, step), "hold what JSON has no form for")
    return own + (_text(step, path) + 2 if isinstance(step, str) else 1)


def _text(text: str, path: list[str | int], *step: Any) -> int:
    if text.isascii():
        return len(text) + 2
    try:
        return len(text.encode()) + 2
    except UnicodeEncodeError:
        where = canonical.pointer([*path, *step]).encode("utf-8", "replace").decode()
        raise NotReadable(where, "hold half a surrogate pair") from None


def _path(path: list[str | int], step: object) -> str:
    return canonical.pointer([*path, str(step)])
