"""Extract the values stated in an intent: quoted strings, numbers, dates, addresses, names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from graph.suggestion.binding.dates import parse_clock_time, parse_iso_date
from graph.suggestion.binding.units import UNITS
from graph.suggestion.binding.value_patterns import (
    CLAIMING_KINDS,
    ESCAPED_SPACE,
    INTRODUCED_PHRASE,
    PATTERNS,
    SPACED_PATH,
    UNIT,
    WORD,
    YIELDING_KINDS,
    ValueKind,
)
from graph.suggestion.binding.vocabulary import MULTIPLIERS, NUMBER_WORDS, STOP_WORDS

__all__ = ["StatedValue", "ValueKind", "extract_values", "is_same_value", "parse_number"]

MAX_VALUES = 160
_TRAILING_PUNCTUATION: Final = " ,.;:"
_MULTIPLIER: Final = re.compile(r"(k)\b|\s(thousand|million|billion)\b", re.IGNORECASE)
_DECIMAL_COMMA: Final = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d{1,15}),(?:\d{1,2}|\d{4,15})")
"""A number with a decimal comma; before three digits alone, a comma separates thousands."""
_CONTRACTION: Final = re.compile(r"\w+(?:['’](?:ve|m|ll|re|d|t)|n['’]t)|(?:Let|It|That)['’]s")  # noqa: RUF001
_DATE_TIME_JOINER: Final = re.compile(r",?(?: at| from)? ")
LIST_SEPARATOR: Final = re.compile(
    r"['\"”’`]?\s*(?:,|;|，|、|\band\b|\bor\b|\bas well as\b|\bplus\b)"  # noqa: RUF001
    r"\s*(?:\b(?:and|or|also|then)\b\s*)?"
    r"(?:\b(?:in|for|from|to|of|on|at|with|about|near)\b\s*)?(?:\b(?:the|a|an)\b\s*)?"
    r"['\"“‘`]?"  # noqa: RUF001 - as typed
)
"""Matches entirely the text between two values of a list."""
_CONJUNCTION: Final = re.compile(r"\b(?:and|plus|as well as)\b")
LISTABLE_KINDS: Final = frozenset(ValueKind) - {
    ValueKind.PHRASE,
    ValueKind.WORD,
    ValueKind.NUMBER_WORD,
    ValueKind.LIST,
}

MAX_OBJECT_CHARS = 2_000
MAX_UNCLOSED = 8
"""Unclosed objects after which the search stops."""
_OBJECT_START: Final = re.compile(r"\{\s{0,9}\"[^\"\\{}]{1,80}\"\s{0,9}:")
_BRACE_OR_STRING: Final = re.compile(r"[{}]|\"(?>(?:[^\"\\]++|\\.)*)\"")


@dataclass(frozen=True, kw_only=True)
class StatedValue:
    """A value stated in an intent.

    Attributes:
        text: Verbatim, without surrounding quotation marks and a path's escapes of spaces.
        value: Parsed: a number, an ISO date, HH:MM, a list of texts, or the text itself.
        kind: Its kind by its form.
        start: Index of its first character in the intent.
        end: Index after its last character.
        unit: Unit of a number, in lower case ("km", "%"); empty if it has none that is converted.
        parts: Items of a list.
    """

    text: str
    value: Any
    kind: ValueKind
    start: int
    end: int
    unit: str = ""
    parts: tuple[StatedValue, ...] = ()

    @property
    def span(self) -> tuple[int, int]:
        """Its place in the intent: start and end."""
        return self.start, self.end

    @property
    def equality_key(self) -> str:
        """A key that is equal for values of the same meaning."""
        return normalize_value(self.value)


@lru_cache(maxsize=64)
def extract_values(text: str) -> tuple[StatedValue, ...]:
    """Extract the values that a text states.

    Args:
        text: An intent, cleaned and bounded.

    Returns:
        At most `MAX_VALUES`, the most specific kinds first; spans may overlap.

    Example:
        >>> [(one.kind.value, one.value) for one in extract_values('wait 5 km before "b.txt"')[:2]]
        [('quoted', 'b.txt'), ('number', 5)]
    """
    found = list(_match_patterns(text))
    found += _join_dates_and_times(text, found)
    lists = [_make_list_value(text, run) for run in iterate_value_lists(text, found)]
    seen: set[tuple[str, int, bool]] = set()
    kept: list[StatedValue] = []
    for one in (*found, *lists, *_find_introduced(text), *_find_words(text, found)):
        key = (one.equality_key, one.start, one.kind is ValueKind.LIST)
        if one.text and key not in seen:
            seen.add(key)
            kept.append(one)
    return tuple(kept[:MAX_VALUES])


def _match_patterns(text: str) -> Iterator[StatedValue]:
    documents = list(find_json_spans(text))
    yield from (_make_value(text, start, end, ValueKind.QUOTED) for start, end in documents)
    claimed = _ClaimedCharacters(text, documents)
    for kind, pattern in PATTERNS:
        for match in pattern.finditer(text):
            group = next((g for g, part in enumerate(match.groups(), 1) if part), 0)
            start, end = match.span(group)
            if claimed.is_claimed_by_other(start, kind):
                continue
            start, end = _trim_span(text, start, end, kind)
            if kind is ValueKind.NAME and not _is_proper_name(text[start:end]):
                continue
            claimed.mark_claimed(*match.span(), kind)
            if kind is ValueKind.QUOTED and SPACED_PATH.fullmatch(text, start, end):
                claimed.mark_claimed(start, end, ValueKind.PATH)
            yield _make_value(text, start, end, kind)
            if kind is ValueKind.NAME:
                yield from _split_names(text, start, end)


def find_json_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the outermost JSON objects in a text, in order.

    Linear in the text. Unclosed objects are ignored.

    Example:
        >>> text = 'write {"a": {"b": 1}} to it'
        >>> [text[start:end] for start, end in find_json_spans(text)]
        ['{"a": {"b": 1}}']
    """
    position = unclosed = 0
    while unclosed < MAX_UNCLOSED and (opened := _OBJECT_START.search(text, position)) is not None:
        start = opened.start()
        end = _find_object_end(text, start)
        if end is None:
            position = opened.end()
            unclosed += 1
            continue
        yield start, end
        position = end


def _find_object_end(text: str, start: int) -> int | None:
    depth = 0
    for mark in _BRACE_OR_STRING.finditer(text, start, start + MAX_OBJECT_CHARS):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0:
            return mark.end()
    return None


class _ClaimedCharacters:
    """Marks the characters of a text that already belong to a value; linear in the text."""

    def __init__(self, text: str, documents: Sequence[tuple[int, int]]) -> None:
        self._claimed, self._quoted = bytearray(len(text)), bytearray(len(text))
        self._closed = bytearray(len(text))
        for start, end in documents:
            self._closed[start:end] = b"\x01" * (end - start)

    def mark_claimed(self, start: int, end: int, kind: ValueKind) -> None:
        if kind in CLAIMING_KINDS:
            self._claimed[start:end] = b"\x01" * (end - start)
        elif kind is ValueKind.QUOTED:
            self._quoted[start:end] = b"\x01" * (end - start)

    def is_claimed_by_other(self, start: int, kind: ValueKind) -> bool:
        if self._closed[start] or (kind in YIELDING_KINDS and self._claimed[start]):
            return True
        return kind is ValueKind.NAME and bool(self._quoted[start])


def _trim_span(text: str, start: int, end: int, kind: ValueKind) -> tuple[int, int]:
    if kind in (ValueKind.NAME, ValueKind.NUMBER, ValueKind.URL, ValueKind.PATH):
        while end > start and text[end - 1] in _TRAILING_PUNCTUATION:
            end -= 1
    if kind is ValueKind.NAME and text[start:end].endswith(("'s", "’s")):  # noqa: RUF001 - as typed
        end -= 2
    if kind is ValueKind.TIME and text[end - 1] == "." and "." not in text[start : end - 1]:
        end -= 1
    return start, end


def _is_proper_name(text: str) -> bool:
    """Whether a capitalised span is a name, not just a stop word that begins a sentence."""
    return len(text) > 1 and text.lower() not in STOP_WORDS and not _CONTRACTION.fullmatch(text)


def _make_value(text: str, start: int, end: int, kind: ValueKind) -> StatedValue:
    content = text[start:end]
    value: Any = content
    unit = ""
    if kind is ValueKind.DATE:
        value = parse_iso_date(content) or content
    elif kind is ValueKind.TIME:
        value = parse_clock_time(content) or content
    elif kind is ValueKind.PATH:
        content = value = re.sub(ESCAPED_SPACE, " ", content)
    elif kind is ValueKind.QUOTED:
        value = _unescape_quotes(content, text[start - 1 : start])
    elif kind is ValueKind.NUMBER:
        value, end, unit = _parse_measure(text, start, end)
        content = text[start:end]
    return StatedValue(text=content, value=value, kind=kind, start=start, end=end, unit=unit)


def _unescape_quotes(raw: str, mark: str) -> str:
    """Return a quoted text with its own escaped quotation marks unescaped."""
    if mark not in ("'", '"'):
        return raw
    plain = raw.replace(f"\\{mark}", mark)
    return plain.replace("''", "'") if mark == "'" else plain


def _parse_measure(text: str, start: int, end: int) -> tuple[Any, int, str]:
    """Return a number times its multiplier, the end of both, and the unit."""
    raw = text[start:end]
    value = parse_number(raw)
    multiplier = _MULTIPLIER.match(text, end)
    if multiplier and value is not None:
        value, end = (
            _integer_if_whole(value * MULTIPLIERS[multiplier[multiplier.lastindex or 0].lower()]),
            multiplier.end(),
        )
    match = UNIT.match(text, end)
    unit = match[1].lower() if match else ""
    return value, end, "%" if "%" in raw else unit if unit in UNITS else ""


def _split_names(text: str, start: int, end: int) -> Iterator[StatedValue]:
    """Yield a name without the first word of a sentence, and the names it lists."""
    content = text[start:end]
    words = content.split()
    before = text[max(0, start - 2) : start].strip()
    if len(words) > 1 and before in ("", ".", "?", "!"):
        yield _make_value(text, start + len(words[0]) + 1, end, ValueKind.NAME)
    position = start
    for part in re.split(r"(, | and |,)", content):
        if part != content and part not in (", ", " and ", ",") and _is_proper_name(part):
            yield _make_value(text, position, position + len(part), ValueKind.NAME)
        position += len(part)


def _join_dates_and_times(text: str, found: Sequence[StatedValue]) -> list[StatedValue]:
    """Join dates with a directly following time of day."""
    times = {one.start: one for one in found if one.kind is ValueKind.TIME}
    moments = []
    for day in (one for one in found if one.kind is ValueKind.DATE and len(one.value) == 10):
        joint = _DATE_TIME_JOINER.match(text, day.end)
        time = times.get(joint.end()) if joint else None
        if time is not None and parse_iso_date(day.text):
            joined, seconds = text[day.start : time.end], "" if len(time.value) > 5 else ":00"
            moments.append(
                replace(day, text=joined, value=f"{day.value}T{time.value}{seconds}", end=time.end)
            )
    return moments


def _find_introduced(text: str) -> Iterator[StatedValue]:
    for match in INTRODUCED_PHRASE.finditer(text):
        start = match.start(1)
        words = match[1].split(" ")
        end = start
        for count, word in enumerate(words, 1):
            end = start + len(" ".join(words[:count]))
            content = text[start:end].rstrip(_TRAILING_PUNCTUATION)
            if content and content.lower() not in STOP_WORDS and word.lower() not in STOP_WORDS:
                yield StatedValue(
                    text=content,
                    value=content,
                    kind=ValueKind.PHRASE,
                    start=start,
                    end=start + len(content),
                )
            if word[-1:] in _TRAILING_PUNCTUATION:
                break


def _find_words(text: str, found: Sequence[StatedValue]) -> Iterator[StatedValue]:
    claimed = _ClaimedCharacters(text, list(find_json_spans(text)))
    for one in found:
        claimed.mark_claimed(one.start, one.end, one.kind)
    for match in WORD.finditer(text):
        word = match[0].lower()
        start, end = match.span()
        if claimed.is_claimed_by_other(start, ValueKind.CODE):
            continue
        if word not in STOP_WORDS:
            yield StatedValue(
                text=match[0], value=match[0], kind=ValueKind.WORD, start=start, end=end
            )
        if word in NUMBER_WORDS:
            yield StatedValue(
                text=match[0],
                value=NUMBER_WORDS[word],
                kind=ValueKind.NUMBER_WORD,
                start=start,
                end=end,
            )


def _make_list_value(text: str, run: tuple[StatedValue, ...]) -> StatedValue:
    start, end = run[0].start, run[-1].end
    return StatedValue(
        text=text[start:end],
        value=[one.value for one in run],
        kind=ValueKind.LIST,
        start=start,
        end=end,
        parts=run,
    )


def parse_number(text: object) -> int | float | None:
    """Parse a text as a number; None if it is not one.

    Example:
        >>> parse_number("1,250.50"), parse_number("$5"), parse_number("20%"), parse_number("five")
        (1250.5, 5, 20, None)
        >>> parse_number("1.250,50"), parse_number("64,5"), parse_number("1,250")
        (1250.5, 64.5, 1250)
    """
    plain = str(text).strip().strip("$€£¥+").rstrip("%")
    if _DECIMAL_COMMA.fullmatch(plain):
        plain = plain.replace(".", "").replace(",", ".")
    plain = plain.replace(",", "")
    if not re.fullmatch(r"[-+]?[$€£¥]?\d{1,15}(?:\.\d{1,15})?", plain):
        return None
    return _integer_if_whole(float(re.sub("[$€£¥]", "", plain)))


def _integer_if_whole(value: float) -> int | float:
    return int(value) if value == int(value) else value


def is_same_value(one: object, other: object) -> bool:
    """Whether two values mean the same, ignoring case, spacing and number types."""
    return normalize_value(one) == normalize_value(other)


def normalize_value(value: object) -> str:
    """Return a text that is equal for values of the same meaning.

    Example:
        >>> (normalize_value("March 5, 2026") == normalize_value("2026-03-05"),
        ...  normalize_value("1,000") == normalize_value(1000.0))
        (True, True)
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.12g}"
    if isinstance(value, list | tuple):
        return f"[{'|'.join(sorted(normalize_value(item) for item in value))}]"
    text = str(value).strip().lower().strip("'\".,;:!?“”‘’` ")  # noqa: RUF001 - as typed
    if text[:1].isdigit() or text[:1] in "-+$€£¥" or text[-4:].isdigit():
        day = parse_iso_date(text)
        if day:
            return day.lower()
        number = parse_number(text)
        if number is not None:
            return f"{number:.12g}"
    return " ".join(text.split())


def are_listed(text: str, one: StatedValue, other: StatedValue) -> bool:
    """Whether only a comma or a conjunction separates a value from the next."""
    return (
        one.end < other.start and LIST_SEPARATOR.fullmatch(text, one.end, other.start) is not None
    )


def are_listed_together(text: str, one: StatedValue, other: StatedValue) -> bool:
    """Whether two values are listed next to each other with "and" or the like, not "or"."""
    return (
        are_listed(text, one, other)
        and _CONJUNCTION.search(text, one.end, other.start) is not None
    )


def iterate_value_lists(
    text: str, values: Sequence[StatedValue]
) -> Iterator[tuple[StatedValue, ...]]:
    """Yield the longest lists of two or more values of the same kind."""
    for same_kind in group_values(values):
        yield from _group_listed_values(text, same_kind)


def group_values(values: Sequence[StatedValue]) -> Iterator[tuple[StatedValue, ...]]:
    """Yield the values of each kind, if there are several, in the order of the text."""
    by_kind: dict[ValueKind, list[StatedValue]] = {}
    for one in values:
        if one.kind in LISTABLE_KINDS:
            by_kind.setdefault(one.kind, []).append(one)
    for same_kind in by_kind.values():
        kept = _drop_containing_values(same_kind)
        if len(kept) > 1:
            yield tuple(kept)


def _drop_containing_values(values: list[StatedValue]) -> list[StatedValue]:
    """Return the values that contain no others, in the order of the text."""
    ordered = sorted(values, key=lambda one: (one.start, -one.end))
    return [
        one
        for one, after in zip(ordered, [*ordered[1:], None], strict=True)
        if after is None or after.start >= one.end
    ]


def _group_listed_values(
    text: str, values: tuple[StatedValue, ...]
) -> Iterator[tuple[StatedValue, ...]]:
    run = list(values[:1])
    for one, other in pairwise(values):
        if are_listed(text, one, other):
            run.append(other)
            continue
        if len(run) > 1:
            yield tuple(run)
        run = [other]
    if len(run) > 1:
        yield tuple(run)
