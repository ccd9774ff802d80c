"""What a stated value becomes as an argument: a number, a member, a date as the schema asks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from graph.binding import units
from graph.binding.dates import clock_time, iso_date
from graph.binding.schemas import Parameter, written
from graph.binding.time_zones import ZONES
from graph.binding.value_patterns import Kind
from graph.binding.values import StatedValue, number
from graph.binding.vocabulary import CURRENCIES, meaning
from graph.data_flow.words import singular


class _Nothing:
    """What a value becomes where it cannot stand."""


NOTHING: Final = _Nothing()
_NUMERIC_DAY: Final = re.compile(
    r"\b(YYYY|yyyy|MM|mm|DD|dd)([-/.])(MM|mm|DD|dd)\2(YYYY|yyyy|MM|mm|DD|dd)\b"
)
_CLOCK_AFTER: Final = re.compile(r"([ T]?)HH:MM(:SS)?", re.IGNORECASE)
_CLOCK: Final = re.compile(r"\bHH:MM\b|\bHH:mm\b|\b24[- ]hour\b", re.IGNORECASE)
_ISO_WORDS: Final = re.compile(r"\bISO\b|\b\d{4}-\d{2}-\d{2}\b")
_CODES: Final = re.compile(r"\b(?:USD|EUR|GBP|JPY)\b|\bcodes?\b|\bISO\b|\b(?:three|3)-letter\b")
DATE_WORDS: Final = meaning(["date", "day", "checkin", "checkout", "birthday"])


@lru_cache(maxsize=8_192)
def spellings(parameter: Parameter) -> Mapping[str, Any]:
    """Return the values a parameter is limited to, by how an intent may write them."""
    return {written(one): one for one in parameter.members if isinstance(one, str)}


def member(parameter: Parameter, value: StatedValue) -> Any:
    """Return the member of a parameter's enumeration that a value names; NOTHING if none."""
    for one in parameter.members:
        if value.text == one or (
            not isinstance(one, str | bool) and isinstance(one, int | float) and value.value == one
        ):
            return one
    known = spellings(parameter)
    told = written(value.text)
    for form in (told, " ".join(singular(word) for word in told.split())):
        if form in known:
            return known[form]
    code = currency(told)
    return code if code in parameter.members else NOTHING


def currency(told: str) -> str | None:
    """Return the ISO 4217 code of a currency named in words; None if it is none.

    Example:
        >>> currency("us dollars"), currency("paris")
        ('USD', None)
    """
    return CURRENCIES.get(" ".join(singular(word) for word in told.lower().split()))


def is_zone(parameter: Parameter) -> bool:
    """Whether a parameter takes the IANA name of a time zone."""
    if "timezone" not in parameter.words:
        return False
    return "IANA" in parameter.description or any("/" in one for one in parameter.choices)


def joins(parameter: Parameter) -> bool:
    """Whether a parameter takes a list as one text."""
    return parameter.is_text and "comma" in parameter.description.lower()


def as_argument(parameter: Parameter, value: StatedValue) -> Any:
    """Return what a stated value becomes as an argument; NOTHING where it cannot stand.

    Numbers become numbers; dates and times take the form that the schema asks for, by its format
    or in the words of its description, and stay as they are written otherwise.
    """
    if parameter.is_array:
        parts = value.parts or (value,)
        items = [_single(parameter, part, parameter.item_types) for part in parts]
        return NOTHING if any(item is NOTHING for item in items) else items
    if value.kind is Kind.LIST:
        if "array" in parameter.types:
            return list(value.value)
        return ", ".join(map(_written, value.parts)) if joins(parameter) else NOTHING
    return _single(parameter, value, parameter.types)


def _written(value: StatedValue) -> str:
    return str(value.value) if value.kind is Kind.QUOTED else value.text


def _single(parameter: Parameter, value: StatedValue, types: frozenset[str]) -> Any:
    if parameter.members:
        return member(parameter, value)
    told = value.value if isinstance(value.value, int | float) else number(value.text)
    if types and "string" not in types:
        if told is None or not types & {"number", "integer"}:
            return NOTHING
        measured = units.converted(told, value.unit, parameter) if value.unit else told
        return measured if isinstance(measured, int) or "number" in types else NOTHING
    if types & {"number", "integer"} and value.kind in (Kind.NUMBER, Kind.NUMBER_WORD):
        return told
    return _text(parameter, value)


def _text(parameter: Parameter, value: StatedValue) -> Any:
    kind = value.kind
    if parameter.format in ("date", "date-time"):
        told = _day_of(value) if kind in (Kind.DATE, Kind.QUOTED, Kind.PHRASE) else None
        return _formatted(parameter.format, told)
    if kind is Kind.DATE:
        return _dated(parameter, value, _day_of(value))
    if kind is Kind.TIME and (parameter.format == "time" or _CLOCK.search(parameter.description)):
        return clock_time(value.text) or NOTHING
    if kind is Kind.NUMBER_WORD:
        return str(value.value)
    return _named(parameter, _written(value))


def _named(parameter: Parameter, told: str) -> str:
    """Return the code by which the world at large knows what is named, if that is asked for."""
    if is_zone(parameter):
        return ZONES.get(told.lower(), told)
    is_coded = "currency" in parameter.words and _CODES.search(parameter.description)
    return currency(told) or told if is_coded else told


def asks_for(parameter: Parameter, kind: str) -> bool:
    """Whether a description asks for a date or a time of day in a certain form."""
    if kind == Kind.TIME:
        is_clock = _CLOCK.search(parameter.description) is not None
        return is_clock and not _NUMERIC_DAY.search(parameter.description)
    return kind == Kind.DATE and _NUMERIC_DAY.search(parameter.description) is not None


def _formatted(wanted: str, day: str | None) -> Any:
    if day is None:
        return NOTHING
    if wanted == "date":
        return day[:10]
    if "T" not in day:
        return f"{day}T00:00:00Z"
    return day if day[-1] == "Z" or day[-6] in "+-" else f"{day}Z"


def _day_of(value: StatedValue) -> str | None:
    """Return a date as ISO 8601, with its time of day if it has one; None if it is not whole."""
    return iso_date(str(value.value)) or iso_date(value.text)


def _dated(parameter: Parameter, value: StatedValue, day: str | None) -> Any:
    """Write a date as the description asks; in ISO 8601 if it does, or if a date is all it is.

    A date without its year, or without the time of day that is asked for, says too little.
    """
    asked = _NUMERIC_DAY.search(parameter.description)
    if asked:
        if day is None:
            return NOTHING
        parts = {"y": day[:4], "m": day[5:7], "d": day[8:10]}
        names = (asked[1], asked[3], asked[4])
        written_day = asked[2].join(parts[name[0].lower()] for name in names)
        return _with_clock(parameter.description[asked.end() :], written_day, day)
    if _ISO_WORDS.search(parameter.description) or parameter.words & DATE_WORDS:
        return day or NOTHING
    return value.text


def _with_clock(told_after: str, written_day: str, day: str) -> Any:
    """Add the time of day to a date where a description asks for it."""
    clock = _CLOCK_AFTER.match(told_after)
    if not clock:
        return written_day
    if "T" not in day:
        return NOTHING
    return written_day + (clock[1] or " ") + (day[11:19] if clock[2] else day[11:16])
