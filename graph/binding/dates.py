"""Read dates and times of day as people write them."""

from __future__ import annotations

import calendar
import re
from datetime import date
from typing import Final

MONTHS: Final = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
_MONTH: Final = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
DATE_PATTERN: Final = (
    r"\b\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?"
    rf"|\b\d{{1,2}}/\d{{1,2}}/\d{{4}}|\b{_MONTH} {_DAY}(?:,? \d{{4}})?"
    rf"|\b{_DAY}(?: of)? {_MONTH},? \d{{4}}"
)
"""Finds dates, ignoring case: ISO 8601, with slashes, and with the month's English name."""
TIME_PATTERN: Final = (
    r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s*[APap]\.?[Mm]\b\.?)?|\b\d{1,2}\s*[APap]\.?[Mm]\b\.?"
)
_ISO: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[t ](\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?(z|[+-]\d\d:\d\d)?)?"
)
_SLASHES: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_MONTH_FIRST: Final = re.compile(r"([a-z]+) (\d{1,2}) (\d{4})")
_DAY_FIRST: Final = re.compile(r"(\d{1,2}) ([a-z]+) (\d{4})")
_CLOCK: Final = re.compile(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s*([ap])?\.?m?\.?")


def iso_date(text: str) -> str | None:
    """Return a whole date as ISO 8601, with its time where it has one; None if it is not whole.

    With slashes, the month comes first unless it cannot.

    Example:
        >>> iso_date("March 5th, 2026"), iso_date("5 of Mar 2026"), iso_date("25/12/2025")
        ('2026-03-05', '2026-03-05', '2025-12-25')
        >>> iso_date("March 5"), iso_date("2026-02-30")
        (None, None)
    """
    plain = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", text.strip().lower())
    stamp = _ISO.fullmatch(plain)
    if stamp:
        day = _valid(*(int(part) for part in stamp.groups()[:3]))
        return day and day + _clock_of(stamp)
    plain = plain.replace(",", "").replace(".", "").replace(" of ", " ")
    return _named(plain) or _slashed(plain)


def _clock_of(stamp: re.Match[str]) -> str:
    hour, minute, second, zone = stamp.groups()[3:]
    if hour is None:
        return ""
    return f"T{int(hour):02}:{minute}:{second or '00'}{(zone or '').upper()}"


def _named(plain: str) -> str | None:
    first = _MONTH_FIRST.fullmatch(plain)
    if first and first[1] in MONTHS:
        return _valid(int(first[3]), MONTHS[first[1]], int(first[2]))
    last = _DAY_FIRST.fullmatch(plain)
    if last and last[2] in MONTHS:
        return _valid(int(last[3]), MONTHS[last[2]], int(last[1]))
    return None


def _slashed(plain: str) -> str | None:
    found = _SLASHES.fullmatch(plain)
    if not found:
        return None
    one, other, year = (int(part) for part in found.groups())
    return _valid(year, one, other) if one <= 12 else _valid(year, other, one)


def _valid(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def clock_time(text: str) -> str | None:
    """Return a time of day as HH:MM on a clock of 24 hours, with seconds where they are told.

    Example:
        >>> clock_time("5 pm"), clock_time("12:30 a.m."), clock_time("17:05"), clock_time("25:00")
        ('17:00', '00:30', '17:05', None)
    """
    found = _CLOCK.fullmatch(text.strip().lower())
    if not found:
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[4] == "p" else 0)
    if hour > 23 or minute > 59:
        return None
    return f"{hour:02}:{minute:02}" + (f":{found[3]}" if found[3] else "")
