"""Units of measures: how large each is beside the others of its scale."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final


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
RATIO: Final = _parse_scale({"0.01": "% percent", "1": "decimal fraction"})
SCALES: Final = (_LENGTH, _DURATION, _CALENDAR, _WEIGHT, RATIO)
UNITS: Final = frozenset[str]().union(*SCALES)
"""Units that are converted, in lower case."""
