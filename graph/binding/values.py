"""Find the values that an intent states: quoted strings, numbers, dates, addresses, names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from graph.binding import coordinated
from graph.binding.dates import clock_time, iso_date
from graph.binding.documents import json_spans
from graph.binding.value_patterns import (
    CLAIMED,
    INTRODUCED,
    PATTERNS,
    PLAINER,
    UNIT,
    WORD,
    Kind,
)
from graph.binding.vocabulary import MULTIPLIERS, NUMBER_WORDS, STOP, UNITS

__all__ = ["Kind", "StatedValue", "number", "same", "stated_values"]

MAX_VALUES = 160
_MARKS: Final = " ,.;:"
_MULTIPLIER: Final = re.compile(r"(k)\b|\s(thousand|million|billion)\b", re.IGNORECASE)
_CONTRACTED: Final = re.compile(r"\w+(?:['’](?:ve|m|ll|re|d|t)|n['’]t)|(?:Let|It|That)['’]s")  # noqa: RUF001
_JOINT: Final = re.compile(r",?(?: at| from)? ")
_BEFORE: Final = re.compile(r"\b([A-Z]{3}) ?$")


@dataclass(frozen=True, kw_only=True)
class StatedValue:
    """A value that stands in an intent.

    Attributes:
        text: As it stands there, without the quotation marks around it.
        value: What it means: a number, an ISO date, HH:MM, a list of texts, or the text itself.
        kind: What it looks like.
        start: Where its text begins in the intent, in characters.
        end: Where it ends.
        unit: Of a number, in lower case ("km", "eur"); empty if none.
        parts: Of a list, its items.
    """

    text: str
    value: Any
    kind: Kind
    start: int
    end: int
    unit: str = ""
    parts: tuple[StatedValue, ...] = ()

    @property
    def key(self) -> str:
        """What is equal for values that mean the same."""
        return normal(self.value)


@lru_cache(maxsize=64)
def stated_values(text: str) -> tuple[StatedValue, ...]:
    """Return the values that a text states.

    Args:
        text: An intent, cleaned and bounded.

    Returns:
        At most 160, the plainest kinds first; spans may overlap.

    Example:
        >>> [(one.kind.value, one.value) for one in stated_values('wait 5 km before "b.txt"')[:2]]
        [('quoted', 'b.txt'), ('number', 5)]
    """
    found = list(_patterned(text))
    found += _moments(text, found)
    lists = [_as_list(text, run) for run in coordinated.runs(text, found)]
    seen: set[tuple[str, int, bool]] = set()
    kept: list[StatedValue] = []
    for one in (*found, *lists, *_introduced(text), *_words(text, found)):
        key = (one.key, one.start, one.kind is Kind.LIST)
        if one.text and key not in seen:
            seen.add(key)
            kept.append(one)
    return tuple(kept[:MAX_VALUES])


def _patterned(text: str) -> Iterator[StatedValue]:
    documents = list(json_spans(text))
    yield from (_value(text, start, end, Kind.QUOTED) for start, end in documents)
    taken = _Taken(text, documents)
    for kind, pattern in PATTERNS:
        for match in pattern.finditer(text):
            group = next((g for g, part in enumerate(match.groups(), 1) if part), 0)
            start, end = match.span(group)
            if taken.is_by_other(start, kind):
                continue
            start, end = _trimmed(text, start, end, kind)
            if kind is Kind.NAME and not _is_name(text[start:end]):
                continue
            taken.mark(*match.span(), kind)
            yield _value(text, start, end, kind)
            if kind is Kind.NAME:
                yield from _name_parts(text, start, end)


class _Taken:
    """Which characters of a text belong to a value already; linear in the text."""

    def __init__(self, text: str, documents: Sequence[tuple[int, int]]) -> None:
        self._claimed, self._quoted = bytearray(len(text)), bytearray(len(text))
        self._closed = bytearray(len(text))
        for start, end in documents:
            self._closed[start:end] = b"\x01" * (end - start)

    def mark(self, start: int, end: int, kind: Kind) -> None:
        if kind in CLAIMED:
            self._claimed[start:end] = b"\x01" * (end - start)
        elif kind is Kind.QUOTED:
            self._quoted[start:end] = b"\x01" * (end - start)

    def is_by_other(self, start: int, kind: Kind) -> bool:
        if self._closed[start] or (kind in PLAINER and self._claimed[start]):
            return True
        return kind is Kind.NAME and bool(self._quoted[start])


def _trimmed(text: str, start: int, end: int, kind: Kind) -> tuple[int, int]:
    if kind in (Kind.NAME, Kind.NUMBER, Kind.URL, Kind.PATH):
        while end > start and text[end - 1] in _MARKS:
            end -= 1
    if kind is Kind.NAME and text[start:end].endswith(("'s", "’s")):  # noqa: RUF001 - as typed
        end -= 2
    if kind is Kind.TIME and text[end - 1] == "." and "." not in text[start : end - 1]:
        end -= 1
    return start, end


def _is_name(told: str) -> bool:
    """Whether a capitalised span is more than a word that happens to begin a sentence."""
    return len(told) > 1 and told.lower() not in STOP and not _CONTRACTED.fullmatch(told)


def _value(text: str, start: int, end: int, kind: Kind) -> StatedValue:
    told = text[start:end]
    value: Any = told
    unit = ""
    if kind is Kind.DATE:
        value = iso_date(told) or told
    elif kind is Kind.TIME:
        value = clock_time(told) or told
    elif kind is Kind.QUOTED:
        value = _unescaped(told, text[start - 1 : start])
    elif kind is Kind.NUMBER:
        value, end, unit = _measured(text, start, end)
        told = text[start:end]
    return StatedValue(text=told, value=value, kind=kind, start=start, end=end, unit=unit)


def _unescaped(told: str, mark: str) -> str:
    """Return a quoted text as it is meant: without what escapes its own quotation marks."""
    if mark not in ("'", '"'):
        return told
    plain = told.replace(f"\\{mark}", mark)
    return plain.replace("''", "'") if mark == "'" else plain


def _measured(text: str, start: int, end: int) -> tuple[Any, int, str]:
    """Return a number with what multiplies it, where that ends, and its unit."""
    told = text[start:end]
    value = number(told)
    more = _MULTIPLIER.match(text, end)
    if more and value is not None:
        value, end = _whole(value * MULTIPLIERS[more[more.lastindex or 0].lower()]), more.end()
    for mark in ("$", "€", "£", "¥", "%"):
        if mark in told:
            return value, end, mark
    after = UNIT.match(text, end)
    if after and after[1].lower() in UNITS:
        return value, end, after[1].lower()
    before = _BEFORE.search(text, max(0, start - 4), start)
    unit = before[1].lower() if before else ""
    return value, end, unit if unit in UNITS else ""


def _name_parts(text: str, start: int, end: int) -> Iterator[StatedValue]:
    """Yield a name without a sentence's first word, and the names it lists."""
    told = text[start:end]
    words = told.split()
    before = text[max(0, start - 2) : start].strip()
    if len(words) > 1 and before in ("", ".", "?", "!"):
        yield _value(text, start + len(words[0]) + 1, end, Kind.NAME)
    place = start
    for part in re.split(r"(, | and |,)", told):
        if part != told and part not in (", ", " and ", ",") and _is_name(part):
            yield _value(text, place, place + len(part), Kind.NAME)
        place += len(part)


def _moments(text: str, found: Sequence[StatedValue]) -> list[StatedValue]:
    """Return the dates that a time of day follows, with it."""
    times = {one.start: one for one in found if one.kind is Kind.TIME}
    moments = []
    for day in (one for one in found if one.kind is Kind.DATE and len(one.value) == 10):
        joint = _JOINT.match(text, day.end)
        time = times.get(joint.end()) if joint else None
        if time is not None and iso_date(day.text):
            told, seconds = text[day.start : time.end], "" if len(time.value) > 5 else ":00"
            moments.append(
                replace(day, text=told, value=f"{day.value}T{time.value}{seconds}", end=time.end)
            )
    return moments


def _introduced(text: str) -> Iterator[StatedValue]:
    for match in INTRODUCED.finditer(text):
        start = match.start(1)
        words = match[1].split(" ")
        end = start
        for count, word in enumerate(words, 1):
            end = start + len(" ".join(words[:count]))
            told = text[start:end].rstrip(_MARKS)
            if told and told.lower() not in STOP and word.lower() not in STOP:
                yield StatedValue(
                    text=told, value=told, kind=Kind.PHRASE, start=start, end=start + len(told)
                )
            if word[-1:] in _MARKS:
                break


def _words(text: str, found: Sequence[StatedValue]) -> Iterator[StatedValue]:
    taken = _Taken(text, list(json_spans(text)))
    for one in found:
        taken.mark(one.start, one.end, one.kind)
    for match in WORD.finditer(text):
        word = match[0].lower()
        start, end = match.span()
        if taken.is_by_other(start, Kind.CODE):
            continue
        if word not in STOP:
            yield StatedValue(text=match[0], value=match[0], kind=Kind.WORD, start=start, end=end)
        if word in NUMBER_WORDS:
            yield StatedValue(
                text=match[0],
                value=NUMBER_WORDS[word],
                kind=Kind.NUMBER_WORD,
                start=start,
                end=end,
            )


def _as_list(text: str, run: tuple[StatedValue, ...]) -> StatedValue:
    start, end = run[0].start, run[-1].end
    return StatedValue(
        text=text[start:end],
        value=[one.value for one in run],
        kind=Kind.LIST,
        start=start,
        end=end,
        parts=run,
    )


def number(text: object) -> int | float | None:
    """Return the number that a text writes, None if it writes none.

    Example:
        >>> number("1,250.50"), number("$5"), number("20%"), number("five")
        (1250.5, 5, 20, None)
    """
    plain = str(text).strip().strip("$€£¥+").replace(",", "").rstrip("%")
    if not re.fullmatch(r"[-+]?[$€£¥]?\d{1,15}(?:\.\d{1,15})?", plain):
        return None
    return _whole(float(re.sub("[$€£¥]", "", plain)))


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else value


def same(one: object, other: object) -> bool:
    """Whether two values mean the same: spelling, spacing and type of a number aside."""
    return normal(one) == normal(other)


def normal(value: object) -> str:
    """Return a text that is equal for values that mean the same.

    Example:
        >>> normal("March 5, 2026") == normal("2026-03-05"), normal("1,000") == normal(1000.0)
        (True, True)
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.12g}"
    if isinstance(value, list | tuple):
        return f"[{'|'.join(sorted(normal(item) for item in value))}]"
    text = str(value).strip().lower().strip("'\".,;:!?“”‘’` ")  # noqa: RUF001 - as typed
    if text[:1].isdigit() or text[:1] in "-+$€£¥" or text[-4:].isdigit():
        day = iso_date(text)
        if day:
            return day.lower()
        told = number(text)
        if told is not None:
            return f"{told:.12g}"
    return " ".join(text.split())
