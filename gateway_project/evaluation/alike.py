"""Whether two argument values say the same, however they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

_AROUND: Final = " \t\n\"'.,;:!?“”‘’"  # noqa: RUF001 - quotation marks as texts have them
_ORDINAL: Final = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_DATES: Final = ("%Y-%m-%d", "%m/%d/%Y", "%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y")


def alike(one: Any, other: Any) -> bool:
    """Tell whether two JSON values say the same.

    Numbers may be written as texts, dates in several forms; case, outer punctuation and runs of
    white space do not count. Lists keep their order. What is judged compares values with
    `graph.binding.values.same`; the judge does not use it on purpose, or a mistake in it would go
    unseen.

    Example:
        >>> alike("1,000", 1000), alike("March 5th, 2024", "2024-03-05"), alike("5", "6")
        (True, True, False)
    """
    return bool(_plain(one) == _plain(other))


def _plain(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return ("literally", value)
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Mapping):
        return tuple(sorted((str(key), _plain(one)) for key, one in value.items()))
    if isinstance(value, list | tuple):
        return tuple(_plain(one) for one in value)
    return _plain_text(str(value))


def _plain_text(text: str) -> Any:
    text = " ".join(text.strip(_AROUND).split()).casefold()
    day = _date(text)
    if day is not None:
        return day
    try:
        return float(text.replace(",", "").lstrip("$€£¥+").rstrip("%"))
    except ValueError:
        return text


def _date(text: str) -> date | None:
    plain = " ".join(_ORDINAL.sub("", text).replace(",", " ").replace(" of ", " ").split())
    for form in _DATES:
        try:
            return datetime.strptime(plain, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue
    return None
