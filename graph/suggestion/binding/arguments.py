"""Convert stated values to arguments: numbers, enumeration members, dates in the schema's form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from graph.data_flow.words import singularize_word, split_raw_name
from graph.suggestion.binding import units
from graph.suggestion.binding.dates import parse_clock_time, parse_iso_date
from graph.suggestion.binding.schemas import ToolParameter, spell_out
from graph.suggestion.binding.time_zones import ZONES_BY_CITY
from graph.suggestion.binding.value_patterns import TIME_ZONE, ValueKind
from graph.suggestion.binding.values import StatedValue, parse_number
from graph.suggestion.binding.vocabulary import CURRENCIES, normalize_words


class _NotConvertible:
    """Type of the marker for a value that cannot be converted."""


NOT_CONVERTIBLE: Final = _NotConvertible()
_NUMERIC_DATE_FORMAT: Final = re.compile(
    r"\b(YYYY|yyyy|MM|mm|DD|dd)([-/.])(MM|mm|DD|dd)\2(YYYY|yyyy|MM|mm|DD|dd)\b"
)
_TIME_AFTER_DATE: Final = re.compile(r"([ T]?)HH:MM(:SS)?", re.IGNORECASE)
_TIME_FORMAT: Final = re.compile(r"\bHH:MM\b|\bHH:mm\b|\b24[- ]hour\b", re.IGNORECASE)
_ISO_DATE_HINT: Final = re.compile(r"\bISO\b|\b\d{4}-\d{2}-\d{2}\b")
_NEEDS_DAY: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}T|\bY{4}-M{2}-D{2}[T ]", re.IGNORECASE)
"""In the description of a moment, for which a time of day is not enough."""
_CODE_HINT: Final = re.compile(
    r"\b(?:USD|EUR|GBP|JPY)\b|\bcodes?\b|\bISO\b|\b(?:three|3)-letter\b"
)
_UNIT_PHRASE: Final = re.compile(r"\b(?:in|as an?|as) ([a-z]+)\b|\(([a-z]+)\)", re.IGNORECASE)
_TIME_ZONE: Final = re.compile(TIME_ZONE)
_JOINED: Final = tuple(
    (normalize_words(first.split()), mark, normalize_words(second.split()))
    for first, mark, second in (
        ("owner org organization organisation", "/", "repo repository"),
        ("host hostname", ":", "port"),
        ("latitude lat", ",", "longitude lon lng"),
        ("schema", ".", "table"),
    )
)
"""Names of two parameters whose values people write as one, and what stands between these."""
DATE_WORDS: Final = normalize_words(["date", "day", "checkin", "checkout", "birthday"])


@lru_cache(maxsize=8_192)
def enumerate_spellings(parameter: ToolParameter) -> Mapping[str, Any]:
    """Map the spellings an intent may use to the members of a parameter's enumeration."""
    return {spell_out(one): one for one in parameter.members if isinstance(one, str)}


def match_member(parameter: ToolParameter, value: StatedValue) -> Any:
    """Return the enumeration member that a value names; `NOT_CONVERTIBLE` if none."""
    for member in parameter.members:
        if value.text == member or (
            not isinstance(member, str | bool)
            and isinstance(member, int | float)
            and value.value == member
        ):
            return member
    members = enumerate_spellings(parameter)
    spelled = spell_out(value.text)
    for form in (spelled, " ".join(singularize_word(word) for word in spelled.split())):
        if form in members:
            return members[form]
    code = currency_code(spelled)
    return code if code in parameter.members else NOT_CONVERTIBLE


def currency_code(text: str) -> str | None:
    """Return the ISO 4217 code of a currency named in words; None if it names none.

    Example:
        >>> currency_code("us dollars"), currency_code("paris")
        ('USD', None)
    """
    return CURRENCIES.get(" ".join(singularize_word(word) for word in text.lower().split()))


def takes_time_zone(parameter: ToolParameter) -> bool:
    """Whether a parameter takes the IANA name of a time zone."""
    if "timezone" not in parameter.name_words:
        return False
    return "IANA" in parameter.description or _TIME_ZONE.search(parameter.description) is not None


def takes_joined_list(parameter: ToolParameter) -> bool:
    """Whether a parameter takes a list as one comma-separated text."""
    return parameter.is_text and "comma" in parameter.description.lower()


def split_joined(
    parameters: Iterable[ToolParameter], stated: Mapping[str, StatedValue]
) -> dict[str, StatedValue]:
    """Return the parts, by parameter, of what is written as one value for two of them.

    Args:
        parameters: Of a tool.
        stated: What is stated for some of them, by name.

    Example:
        >>> from graph.suggestion.binding.schemas import load_schema
        >>> from graph.suggestion.binding.tasks import WorkflowTool
        >>> from graph.suggestion.binding.values import extract_values
        >>> schema = {"properties": {"owner": {"type": "string"}, "repo": {"type": "string"}}}
        >>> tool = WorkflowTool(pk=1, tool="a:b", name="b", input_schema=schema)
        >>> both = load_schema(tool).parameters.values()
        >>> found = split_joined(both, {"repo": extract_values("acme/web")[0]})
        >>> {name: one.text for name, one in found.items()}
        {'owner': 'acme', 'repo': 'web'}
    """
    parts = {}
    for first, mark, second in _JOINED:
        pair = [
            [one.name for one in parameters if one.name_words <= words]
            for words in (first, second)
        ]
        named = [names[0] for names in pair if len(names) == 1]
        wholes = {stated[name].text: stated[name] for name in named if name in stated}
        for text, whole in wholes.items():
            values = text.split(mark)
            if len(named) == len(values) == 2 and len(wholes) == 1 and all(values):
                for name, value in zip(named, values, strict=True):
                    parts[name] = replace(whole, text=value, value=value, kind=ValueKind.PHRASE)
    return parts


def convert_value(parameter: ToolParameter, value: StatedValue) -> Any:
    """Convert a stated value to an argument; `NOT_CONVERTIBLE` if the types do not match.

    Numbers become numbers; dates and times take the form required by the schema's format or its
    description, and are otherwise kept as written.
    """
    if parameter.is_array:
        parts = value.parts or (value,)
        items = [_convert_single(parameter, part, parameter.item_types) for part in parts]
        return NOT_CONVERTIBLE if any(item is NOT_CONVERTIBLE for item in items) else items
    if value.kind is ValueKind.LIST:
        if "array" in parameter.types:
            return list(value.value)
        return (
            ", ".join(map(_value_text, value.parts))
            if takes_joined_list(parameter)
            else NOT_CONVERTIBLE
        )
    return _convert_single(parameter, value, parameter.types)


def _value_text(value: StatedValue) -> str:
    return str(value.value) if value.kind is ValueKind.QUOTED else value.text


def _convert_single(parameter: ToolParameter, value: StatedValue, types: frozenset[str]) -> Any:
    if parameter.members:
        return match_member(parameter, value)
    number = value.value if isinstance(value.value, int | float) else parse_number(value.text)
    if types and "string" not in types:
        if number is None or not types & {"number", "integer"}:
            return NOT_CONVERTIBLE
        measured = convert_unit(number, value.unit, parameter) if value.unit else number
        return measured if isinstance(measured, int) or "number" in types else NOT_CONVERTIBLE
    if types & {"number", "integer"} and value.kind in (ValueKind.NUMBER, ValueKind.NUMBER_WORD):
        return number
    return _convert_text(parameter, value)


def _convert_text(parameter: ToolParameter, value: StatedValue) -> Any:
    kind = value.kind
    if parameter.format in ("date", "date-time"):
        date = (
            _to_iso_date(value)
            if kind in (ValueKind.DATE, ValueKind.QUOTED, ValueKind.PHRASE)
            else None
        )
        return _format_date(parameter.format, date)
    if kind is ValueKind.DATE:
        return _format_described_date(parameter, value, _to_iso_date(value))
    if kind is ValueKind.TIME and _NEEDS_DAY.search(parameter.description):
        return NOT_CONVERTIBLE
    if kind is ValueKind.TIME and (
        parameter.format == "time" or _TIME_FORMAT.search(parameter.description)
    ):
        return parse_clock_time(value.text) or NOT_CONVERTIBLE
    if kind is ValueKind.NUMBER_WORD:
        return str(value.value)
    return _resolve_code(parameter, _value_text(value))


def _resolve_code(parameter: ToolParameter, text: str) -> str:
    """Return the standard code (time zone, currency) of a name if the parameter asks for one."""
    if takes_time_zone(parameter):
        return ZONES_BY_CITY.get(text.lower(), text)
    is_coded = "currency" in parameter.name_words and _CODE_HINT.search(parameter.description)
    return currency_code(text) or text if is_coded else text


def _format_date(date_format: str, day: str | None) -> Any:
    if day is None:
        return NOT_CONVERTIBLE
    if date_format == "date":
        return day[:10]
    if "T" not in day:
        return f"{day}T00:00:00Z"
    return day if day[-1] == "Z" or day[-6] in "+-" else f"{day}Z"


def _to_iso_date(value: StatedValue) -> str | None:
    """Return a date as ISO 8601, with its time of day if any; None if it is incomplete."""
    return parse_iso_date(str(value.value)) or parse_iso_date(value.text)


def _format_described_date(parameter: ToolParameter, value: StatedValue, day: str | None) -> Any:
    """Format a date as the description asks; as ISO 8601 if it asks for that or names a date.

    A date without a year, or without a required time of day, is not convertible.
    """
    pattern = _NUMERIC_DATE_FORMAT.search(parameter.description)
    if pattern:
        if day is None:
            return NOT_CONVERTIBLE
        parts = {"y": day[:4], "m": day[5:7], "d": day[8:10]}
        names = (pattern[1], pattern[3], pattern[4])
        written_day = pattern[2].join(parts[name[0].lower()] for name in names)
        return _append_time(parameter.description[pattern.end() :], written_day, day)
    if _ISO_DATE_HINT.search(parameter.description) or parameter.name_words & DATE_WORDS:
        return day or NOT_CONVERTIBLE
    return value.text


def _append_time(rest_of_description: str, written_day: str, day: str) -> Any:
    """Append the time of day to a date if the description asks for it."""
    clock = _TIME_AFTER_DATE.match(rest_of_description)
    if not clock:
        return written_day
    if "T" not in day:
        return NOT_CONVERTIBLE
    return written_day + (clock[1] or " ") + (day[11:19] if clock[2] else day[11:16])


def convert_unit(value: float, unit: str, parameter: ToolParameter) -> int | float:
    """Convert a number to the unit that a parameter names; unchanged if it names none.

    Args:
        value: As the intent states it.
        unit: As the intent states it, in lower case.
        parameter: Its name ("timeout_ms") or its description ("in meters") may name a unit.
    """
    scale = next((one for one in units.SCALES if unit in one), None)
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
    return "fraction" if scale is units.RATIO and _expects_fraction(parameter) else None


def _expects_fraction(parameter: ToolParameter) -> bool:
    limit = parameter.schema.get("maximum")
    return isinstance(limit, int | float) and 0 < limit <= 1
