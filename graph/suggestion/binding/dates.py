"""Parse dates and times of day as people write them."""

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


def parse_iso_date(text: str) -> str | None:
    """Parse a complete date to ISO 8601, with its time if any; None if it is incomplete.

    With slashes, the month comes first unless that is impossible.

    Example:
        >>> (parse_iso_date("March 5th, 2026"), parse_iso_date("5 of Mar 2026"),
        ...  parse_iso_date("25/12/2025"))
        ('2026-03-05', '2026-03-05', '2025-12-25')
        >>> parse_iso_date("March 5"), parse_iso_date("2026-02-30")
        (None, None)
    """
    plain = re.sub(r"(\d)(st|nd|rd|th)\b", r"\1", text.strip().lower())
    stamp = _ISO.fullmatch(plain)
    if stamp:
        day = _iso_date_if_valid(*(int(part) for part in stamp.groups()[:3]))
        return day and day + _iso_time_suffix(stamp)
    plain = plain.replace(",", "").replace(".", "").replace(" of ", " ")
    return _parse_named_month(plain) or _parse_slashed_date(plain)


def _iso_time_suffix(stamp: re.Match[str]) -> str:
    hour, minute, second, zone = stamp.groups()[3:]
    if hour is None:
        return ""
    return f"T{int(hour):02}:{minute}:{second or '00'}{(zone or '').upper()}"


def _parse_named_month(plain: str) -> str | None:
    month_first = _MONTH_FIRST.fullmatch(plain)
    if month_first and month_first[1] in MONTHS:
        return _iso_date_if_valid(int(month_first[3]), MONTHS[month_first[1]], int(month_first[2]))
    day_first = _DAY_FIRST.fullmatch(plain)
    if day_first and day_first[2] in MONTHS:
        return _iso_date_if_valid(int(day_first[3]), MONTHS[day_first[2]], int(day_first[1]))
    return None


def _parse_slashed_date(plain: str) -> str | None:
    match = _SLASHES.fullmatch(plain)
    if not match:
        return None
    first, second, year = (int(part) for part in match.groups())
    return (
        _iso_date_if_valid(year, first, second)
        if first <= 12
        else _iso_date_if_valid(year, second, first)
    )


def _iso_date_if_valid(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def parse_clock_time(text: str) -> str | None:
    """Parse a time of day to 24-hour HH:MM, with seconds if given.

    Example:
        >>> (parse_clock_time("5 pm"), parse_clock_time("12:30 a.m."), parse_clock_time("17:05"),
        ...  parse_clock_time("25:00"))
        ('17:00', '00:30', '17:05', None)
    """
    match = _CLOCK.fullmatch(text.strip().lower())
    if not match:
        return None
    hour, minute = int(match[1]), int(match[2] or 0)
    if match[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[4] == "p" else 0)
    if hour > 23 or minute > 59:
        return None
    return f"{hour:02}:{minute:02}" + (f":{match[3]}" if match[3] else "")
