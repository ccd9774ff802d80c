"""Convert a measured number to the unit that a parameter expects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from graph.data_flow.words import split_raw_name

if TYPE_CHECKING:
    from graph.suggestion.binding.schemas import ToolParameter


def _parse_scale(rows: Mapping[str, str]) -> Mapping[str, Fraction]:
    return {unit: Fraction(size) for size, units in rows.items() for unit in units.split()}


_LENGTH: Final = _parse_scale(
    {
        "0.001": "mm",
        "0.01": "cm",
        "1": "m meter meters metre metres",
        "1000": "km kilometer kilometers kilometre kilometres",
        "0.3048": "ft foot feet",
        "1609.344": "mi mile miles",
    }
)
_DURATION: Final = _parse_scale(
    {
        "0.001": "ms millisecond milliseconds",
        "1": "s sec secs second seconds",
        "60": "min mins minute minutes",
        "3600": "h hr hrs hour hours",
        "86400": "day days",
        "604800": "week weeks",
    }
)
_CALENDAR: Final = _parse_scale({"1": "month months", "12": "year years"})
_WEIGHT: Final = _parse_scale(
    {
        "0.001": "mg",
        "1": "g gram grams",
        "1000": "kg kilogram kilograms",
        "453.59237": "lb lbs",
    }
)
_RATIO: Final = _parse_scale({"0.01": "% percent", "1": "decimal fraction"})
_SCALES: Final = (_LENGTH, _DURATION, _CALENDAR, _WEIGHT, _RATIO)
UNITS: Final = frozenset[str]().union(*_SCALES)
"""Units that are converted, in lower case."""
_UNIT_PHRASE: Final = re.compile(r"\b(?:in|as an?|as) ([a-z]+)\b|\(([a-z]+)\)", re.IGNORECASE)


def convert_unit(value: float, unit: str, parameter: ToolParameter) -> int | float:
    """Convert a number to the unit that a parameter names; unchanged if it names none.

    Args:
        value: As the intent states it.
        unit: As the intent states it, in lower case.
        parameter: Its name ("timeout_ms") or its description ("in meters") may name a unit.
    """
    scale = next((one for one in _SCALES if unit in one), None)
    target = _find_expected_unit(parameter, scale) if scale else None
    if scale is None or target is None:
        return value
    exact = Fraction(str(value)) * scale[unit] / scale[target]
    return int(exact) if exact.denominator == 1 else float(exact)


def _find_expected_unit(parameter: ToolParameter, scale: Mapping[str, Fraction]) -> str | None:
    """Return the unit that a parameter expects; the end of its name takes precedence."""
    words = split_raw_name(parameter.name)
    if len(words) > 1 and words[-1] in scale:
        return words[-1]
    described = (match[1] or match[2] for match in _UNIT_PHRASE.finditer(parameter.description))
    for word in (*words[-1:], *(word.lower() for word in described)):
        if word in scale and len(word) > 1:  # "in s" and "(m)" are ambiguous
            return word
    return "fraction" if scale is _RATIO and _expects_fraction(parameter) else None


def _expects_fraction(parameter: ToolParameter) -> bool:
    limit = parameter.schema.get("maximum")
    return isinstance(limit, int | float) and 0 < limit <= 1
