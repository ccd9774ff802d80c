"""Read the values that a client states in words: ids, names, dates, quoted texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from graph.suggestion.binding.protected_values import is_shunned
from graph.suggestion.next_call.profiles import stem_name
from graph.suggestion.next_call.shapes import describe_text

MAX_CHARS = 4_000
"""Characters of a statement that are read."""
MAX_VALUES = 60
WORDS_BEFORE = 4
"""Words before a value that may name what it is."""
CHARS_BEFORE = 200
"""Characters before a quoted value in which these words are looked for."""

_WORD: Final = re.compile(r"[^\s,;:!?()\[\]{}<>\"\u201c\u201d\u2018\u2019`|]+")
_QUOTED: Final = re.compile(
    r"(?<!\w)['\"\u201c\u2018`]([^'\"\u201c\u201d\u2018\u2019`]{1,80})['\"\u201d\u2019`](?!\w)"
)
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>\d{4})"
_DATES: Final = tuple(
    re.compile(rf"\b{pattern}\b", re.IGNORECASE)
    for pattern in (
        rf"{_MONTH}\s+{_DAY},?\s+(?:of\s+)?{_YEAR}",
        rf"{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}",
    )
)
_ADDRESS: Final = re.compile(
    r"(?<!\S)[^\w\s]{0,3}(?:[a-z]{2,10}://|www\.|(?:\d{1,3}\.){3}\d)\S*", re.IGNORECASE
)
_NAMED_ID: Final = re.compile(r"[a-z]{2,}_[a-z]{2,}(?:_\d+)?")
_SENTENCE_SIGNS: Final = frozenset(".!?\n")
_EDGES: Final = ".,;:!?'\"*()\u2014\u2013-$"


@dataclass(frozen=True, slots=True)
class StatementValue:
    """A value in a statement.

    Attributes:
        shape: Its shape, with its place in a name of several words.
        before: Words that stand shortly before it.
        value: The value.
    """

    shape: str
    before: tuple[str, ...]
    value: str


def read_statement(text: str) -> list[StatementValue]:
    """Return the values in a statement, in its order; without addresses that it says to shun.

    Example:
        >>> [(found.shape, found.value) for found in read_statement("I am Mia Li, zip 32286.")]
        [('Aa 1', 'Mia'), ('Aa 2', 'Li'), ('Aa Aa', 'Mia Li'), ('9x5', '32286')]
    """
    found: dict[tuple[str, str], StatementValue] = {}
    prepared = _THOUSANDS.sub("", text[:MAX_CHARS])  # numbers as programs write them
    shunned = _find_shunned(prepared)
    for value in _iterate_values(prepared):
        if shunned and any(value.value in one for one in shunned):
            continue
        found.setdefault((value.shape, value.value), value)
        if len(found) == MAX_VALUES:
            break
    return list(found.values())


def _find_shunned(text: str) -> list[str]:
    """Return the addresses that a statement says not to visit: to call ahead would visit them."""
    return [
        match[0]
        for match in _ADDRESS.finditer(text)
        if is_shunned(text, match.start(), match.end())
    ]


def _iterate_values(text: str) -> Iterator[StatementValue]:
    yield from _iterate_dates(text)
    for match in _QUOTED.finditer(text):
        start = match.start()
        before = tuple(_WORD.findall(text[max(0, start - CHARS_BEFORE) : start])[-WORDS_BEFORE:])
        shape = f"quoted {describe_text(match.group(1))}"[:40]
        yield StatementValue(shape, before, match.group(1))
    words = [match.group().strip(_EDGES) for match in _WORD.finditer(text)]
    starts = _find_sentence_starts(text)
    position = 0
    while position < len(words):
        names = _read_name(words, position, starts)
        before = tuple(words[max(0, position - WORDS_BEFORE) : position])
        if len(names) > 1:
            for index, name in enumerate(names[:3], start=1):
                yield StatementValue(f"Aa {index}", before, name)
            yield StatementValue("Aa Aa", before, " ".join(names))
        elif names and position not in starts:
            yield StatementValue("Aa", before, names[0])
        elif _is_value(words[position]):
            word = words[position]
            yield StatementValue(describe_text(word), before, word)
            yield from _iterate_parts(word)
        position += max(1, len(names))


def _iterate_dates(text: str) -> Iterator[StatementValue]:
    """Yield dates in words as programs write them."""
    for pattern in _DATES:
        for match in pattern.finditer(text):
            month = 1 + _MONTHS.index(match["month"][:3].lower())
            date = f"{match['year']}-{month:02}-{int(match['day']):02}"
            before = tuple(_WORD.findall(text[: match.start()][-CHARS_BEFORE:])[-WORDS_BEFORE:])
            yield StatementValue(describe_text(date), before, date)


def _iterate_parts(word: str) -> Iterator[StatementValue]:
    """Yield the names that an id is made of, as they are written in texts.

    The words before it name the id, not its parts.
    """
    if _NAMED_ID.fullmatch(word):
        for index, name in enumerate(word.split("_")[:2], start=1):
            yield StatementValue(f"a {index}", (), name.capitalize())


def _find_sentence_starts(text: str) -> frozenset[int]:
    starts, end = set(), 0
    for index, match in enumerate(_WORD.finditer(text)):
        if not index or not _SENTENCE_SIGNS.isdisjoint(text[end - 1 : match.start()]):
            starts.add(index)
        end = match.end()
    return frozenset(starts)


def _read_name(words: list[str], start: int, starts: frozenset[int]) -> list[str]:
    """Return the capitalised words that follow one another."""
    names = []
    for index in range(start, min(start + 4, len(words))):
        if describe_text(words[index]) != "Aa" or (index in starts and index > start):
            break
        names.append(words[index])
    return names


def _is_value(word: str) -> bool:
    """Return whether a word is not plain prose: digits, signs, or capitals inside."""
    if not word or (word.isalpha() and (word.islower() or word.istitle())):
        return False
    return len(word) > 1 or word.isdigit()


def find_parameter_stems(value: StatementValue, known: frozenset[str]) -> frozenset[str]:
    """Return which stems of parameter names stand before a value."""
    return frozenset(stem for word in value.before for stem in stem_name(word)) & known
