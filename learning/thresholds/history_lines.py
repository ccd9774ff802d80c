"""Reads resolved predictions from JSON Lines, for backtests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from learning.memory.context import ContextKey
from learning.prediction import ResolvedPrediction

MAX_BYTES: Final = 100_000_000
MAX_NAME_CHARS: Final = 200
MAX_NUMBER: Final = 1e15
"""Largest time or duration, well within the range of floating point."""


class InvalidHistory(ValueError):
    """A line of the file is not a resolved prediction."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line:,}: {reason}")


def parse_history(content: bytes) -> list[ResolvedPrediction]:
    """Return the resolved predictions of a file, in its order.

    Each line is an object with `confidence` in [0, 1] and `succeeded`; it may have `weight` in
    (0, 1], `at` (Unix time; by default the number of the line), `context` and `domain` (any
    names) and `saves_ms`. Blank lines are skipped.

    Raises:
        InvalidHistory: At the first line that is malformed.
    """
    numbers: dict[tuple[str, ...], int] = {}
    found = []
    for line, raw in enumerate(content.split(b"\n"), start=1):
        if raw.strip():
            found.append(_parse_line(line, raw, numbers))
    return found


def _parse_line(line: int, raw: bytes, numbers: dict[tuple[str, ...], int]) -> ResolvedPrediction:
    try:
        row = json.loads(raw)
    except (ValueError, RecursionError):
        raise InvalidHistory(line, "it is not JSON") from None
    if not isinstance(row, dict):
        raise InvalidHistory(line, "it is not a JSON object")
    if not isinstance(row.get("succeeded"), bool):
        raise InvalidHistory(line, "`succeeded` must be true or false")
    domain, context = _read_name(row, "domain", line), _read_name(row, "context", line)
    saves_ms = _read_number(row, "saves_ms", line, default=0.0)
    return ResolvedPrediction(
        confidence=_read_number(row, "confidence", line, highest=1.0),
        succeeded=row["succeeded"],
        weight=_read_weight(row, line),
        at=_read_number(row, "at", line, lowest=-MAX_NUMBER, default=float(line)),
        context=ContextKey(
            context=numbers.setdefault((domain, context), len(numbers)),
            domain=numbers.setdefault((domain,), len(numbers)),
        ),
        team=None,
        saves_ms=saves_ms if row["succeeded"] else 0.0,
    )


def _read_number(
    row: Mapping[str, Any],
    name: str,
    line: int,
    *,
    lowest: float = 0.0,
    highest: float = MAX_NUMBER,
    default: float | None = None,
) -> float:
    value = row.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidHistory(line, f"`{name}` must be a number")
    if not (abs(value) <= MAX_NUMBER and lowest <= value <= highest):
        raise InvalidHistory(line, f"`{name}` must be from {lowest:g} to {highest:g}")
    return float(value)


def _read_weight(row: Mapping[str, Any], line: int) -> float:
    weight = _read_number(row, "weight", line, highest=1.0, default=1.0)
    if not weight:
        raise InvalidHistory(line, "`weight` must be more than 0")
    return weight


def _read_name(row: Mapping[str, Any], name: str, line: int) -> str:
    value = row.get(name, "")
    if not isinstance(value, str) or len(value) > MAX_NAME_CHARS:
        raise InvalidHistory(line, f"`{name}` must be text of at most {MAX_NAME_CHARS} characters")
    return value
