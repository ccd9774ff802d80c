"""Read the values that a client states in words: ids, names, dates, quoted texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

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
_EDGES: Final = ".,;:!?'\"*()\u2014\u2013-$"


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value in a statement.

    Attributes:
        shape: Its shape, with its place in a name of several words.
        before: Words that stand shortly before it.
        value: The value.
    """

    shape: str
    before: tuple[str, ...]
    value: str


def read_statement(text: str) -> list[StatedValue]:
    """Return the values in a statement, in its order.

    Example:
        >>> [(found.shape, found.value) for found in read_statement("I am Mia Li, zip 32286.")]
        [('Aa 1', 'Mia'), ('Aa 2', 'Li'), ('Aa Aa', 'Mia Li'), ('9x5', '32286')]
    """
    found: dict[tuple[str, str], StatedValue] = {}
    for value in _iterate_values(text[:MAX_CHARS]):
        found.setdefault((value.shape, value.value), value)
        if len(found) == MAX_VALUES:
            break
    return list(found.values())


def _iterate_values(text: str) -> Iterator[StatedValue]:
    for match in _QUOTED.finditer(text):
        start = match.start()
        before = tuple(_WORD.findall(text[max(0, start - CHARS_BEFORE) : start])[-WORDS_BEFORE:])
        yield StatedValue(f"quoted {describe_text(match.group(1))}"[:40], before, match.group(1))
    words = [word.strip(_EDGES) for word in _WORD.findall(text)]
    starts = _find_sentence_starts(text)
    position = 0
    while position < len(words):
        names = _read_name(words, position, starts)
        before = tuple(words[max(0, position - WORDS_BEFORE) : position])
        if len(names) > 1:
            for index, name in enumerate(names[:3], start=1):
                yield StatedValue(f"Aa {index}", before, name)
            yield StatedValue("Aa Aa", before, " ".join(names))
        elif names and position not in starts:
            yield StatedValue("Aa", before, names[0])
        elif _is_value(words[position]):
            yield StatedValue(describe_text(words[position]), before, words[position])
        position += max(1, len(names))


def _find_sentence_starts(text: str) -> frozenset[int]:
    starts, is_start = set(), True
    for index, match in enumerate(_WORD.finditer(text)):
        if is_start:
            starts.add(index)
        is_start = match.group().endswith((".", "!", "?"))
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


def find_parameter_stems(value: StatedValue, known: frozenset[str]) -> frozenset[str]:
    """Return which stems of parameter names stand before a value."""
    return frozenset(stem for word in value.before for stem in stem_name(word)) & known
