"""Equivalence of argument values, however they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

_OUTER_CHARACTERS: Final = " \t\n\"'.,;:!?“”‘’"  # noqa: RUF001 - quotation marks as texts have them
_ORDINAL_SUFFIX: Final = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_DATE_FORMATS: Final = ("%Y-%m-%d", "%m/%d/%Y", "%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y")


def is_equivalent(one: Any, other: Any) -> bool:
    """Whether two JSON values are equivalent.

    Numbers may be written as text and dates in several forms; case, outer punctuation and runs of
    white space are ignored. The order of lists counts. Deliberately independent of
    `graph.suggestion.binding.values.is_same_value`, which the judged code uses: a defect in it
    would otherwise go unnoticed.

    Example:
        >>> (is_equivalent("1,000", 1000), is_equivalent("March 5th, 2024", "2024-03-05"),
        ...  is_equivalent("5", "6"))
        (True, True, False)
    """
    return bool(_normalize_value(one) == _normalize_value(other))


def _normalize_value(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return ("literally", value)
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Mapping):
        return tuple(sorted((str(key), _normalize_value(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return tuple(_normalize_value(item) for item in value)
    return _normalize_text(str(value))


def _normalize_text(text: str) -> Any:
    text = " ".join(text.strip(_OUTER_CHARACTERS).split()).casefold()
    day = _parse_date(text)
    if day is not None:
        return day
    try:
        return float(text.replace(",", "").lstrip("$€£¥+").rstrip("%"))
    except ValueError:
        return text


def _parse_date(text: str) -> date | None:
    plain = " ".join(_ORDINAL_SUFFIX.sub("", text).replace(",", " ").replace(" of ", " ").split())
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(plain, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    return None
