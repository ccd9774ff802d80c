"""The stated values of an intent and the words around them, as arrays."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.data_flow.words import canonicalize_word
from graph.suggestion.binding.value_patterns import PATTERNS, SECRET, SPACED_PATH, ValueKind
from graph.suggestion.binding.values import StatedValue, extract_values, parse_number
from graph.suggestion.binding.vocabulary import (
    STOP_WORDS,
    UNIT_WORDS,
    Words,
    normalize_word_with_verb,
)
from tools.glossary import Language
from tools.translate import detect_language, gloss_tokens

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

LEFT_WINDOW = 4
"""Words before a value that may describe it."""
RIGHT_WINDOW = 3
"""Words after a value that may describe it."""
_TOKEN: Final = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_FULL_PATTERNS: Final = {
    kind: pattern for kind, pattern in PATTERNS if kind is not ValueKind.QUOTED
}


@dataclass(frozen=True, kw_only=True, eq=False)
class StatedValues:
    """The n values of an intent with w distinct words; arrays have one row per value.

    Attributes:
        text: The intent.
        values: Its values.
        kinds: Kind of each value; of quoted ones, the kind without the quotation marks.
        columns: Column of each word in the five word arrays.
        left_words: `(n, w)` whether a word is shortly before the value.
        right_words: `(n, w)` whether a word is shortly after the value.
        own_words: `(n, w)` whether a word is part of the value.
        nearest_left_words: `(n, w)` whether a word is directly before the value.
        nearest_right_words: `(n, w)` whether a word is directly after the value.
        introduced_by: The word directly before each value, in lower case.
        followed_by: The word directly after each value, in lower case.
        is_number: `(n,)` whether the value is a number.
        is_secret: `(n,)` whether the value looks like a key, a token or a strong password.
        lengths: `(n,)` log(1 + words).
        kind_counts: `(n,)` -log(number of values of this kind).
        relative_positions: `(n,)` position in the intent, in [0, 1].
    """

    text: str
    values: tuple[StatedValue, ...]
    kinds: tuple[ValueKind, ...]
    columns: dict[str, int]
    left_words: Floats
    right_words: Floats
    own_words: Floats
    nearest_left_words: Floats
    nearest_right_words: Floats
    introduced_by: tuple[str, ...]
    followed_by: tuple[str, ...]
    is_number: Flags
    is_secret: Flags
    lengths: Floats
    kind_counts: Floats
    relative_positions: Floats

    def word_incidence(self, words: Sequence[Words]) -> Floats:
        """Return `(len(words), w)`: which words of the intent are in each set."""
        incidence = np.zeros((len(words), len(self.columns)), dtype=np.float32)
        columns = self.columns
        for row, word_set in enumerate(words):
            for word in word_set & columns.keys():
                incidence[row, columns[word]] = 1
        return incidence

    def has_kind(self, *kinds: ValueKind) -> Flags:
        """Return `(n,)`: which values are of one of these kinds."""
        return np.array([one.kind in kinds for one in self.values], dtype=bool)

    def has_unquoted_kind(self, kind: ValueKind) -> Flags:
        """Return `(n,)`: which values are of this kind, ignoring quotation marks."""
        return np.array([one is kind for one in self.kinds], dtype=bool)


@lru_cache(maxsize=64)
def read_stated_values(text: str, further: tuple[tuple[int, int], ...] = ()) -> StatedValues:
    """Extract the values of an intent with their surroundings.

    Args:
        text: The intent.
        further: Spans of further values, namely members listed in a schema.
    """
    values = _add_phrase_values(text, extract_values(text), further)
    tokens = tokenize(text)
    starts, ends = [one[0] for one in tokens], [one[1] for one in tokens]
    meanings = [normalize_word_with_verb(word) for _, _, word in tokens]
    columns = {word: n for n, word in enumerate(dict.fromkeys(w for m in meanings for w in m))}
    left_ends = [bisect_right(ends, one.start) for one in values]
    right_starts = [bisect_left(starts, one.end) for one in values]
    shape = (len(values), len(columns))
    left, right, own, next_left, next_right = (np.zeros(shape, dtype=np.float32) for _ in range(5))
    for row, (last, first) in enumerate(zip(left_ends, right_starts, strict=True)):
        _mark_words(left[row], meanings[max(0, last - LEFT_WINDOW) : last], columns)
        _mark_words(right[row], meanings[first : first + RIGHT_WINDOW], columns)
        _mark_words(own[row], meanings[last:first], columns)
        _mark_words(next_left[row], meanings[max(0, last - 1) : last], columns)
        _mark_words(next_right[row], meanings[first : first + 1], columns)
    counts = Counter(one.kind for one in values)
    return StatedValues(
        text=text,
        values=values,
        kinds=tuple(find_unquoted_kind(one) for one in values),
        columns=columns,
        left_words=left,
        right_words=right,
        own_words=own,
        nearest_left_words=next_left,
        nearest_right_words=next_right,
        introduced_by=tuple(tokens[last - 1][2] if last else "" for last in left_ends),
        followed_by=tuple(tokens[n][2] if n < len(tokens) else "" for n in right_starts),
        is_number=np.array([_is_numeric(one) for one in values], dtype=bool),
        is_secret=np.array([SECRET.fullmatch(one.text) is not None for one in values], dtype=bool),
        lengths=np.array([np.log1p(len(one.text.split())) for one in values], dtype=np.float32),
        kind_counts=np.array([-np.log(counts[one.kind]) for one in values], dtype=np.float32),
        relative_positions=np.array([one.start / len(text) for one in values], dtype=np.float32),
    )


@lru_cache(maxsize=64)
def tokenize(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return the words of a text as (start, end, lower-case word), in English if it is glossed."""
    language = detect_language(text)
    if language is None:
        return tuple((m.start(), m.end(), m[0].lower()) for m in _TOKEN.finditer(text))
    return tuple(_iterate_glossed(text, language))


def _iterate_glossed(text: str, language: Language) -> Iterator[tuple[int, int, str]]:
    for part in gloss_tokens(text, language):
        if part.role not in ("", "value", "mark"):
            yield from ((part.start, part.end, word) for word in part.english.lower().split())
        else:
            found = _TOKEN.finditer(text, part.start, part.end)
            yield from ((m.start(), m.end(), m[0].lower()) for m in found)


def _add_phrase_values(
    text: str, values: tuple[StatedValue, ...], spans: Iterable[tuple[int, int]]
) -> tuple[StatedValue, ...]:
    existing = {one.span for one in values}
    added = [
        StatedValue(
            text=text[start:end],
            value=text[start:end],
            kind=ValueKind.PHRASE,
            start=start,
            end=end,
        )
        for start, end in dict.fromkeys(spans)
        if (start, end) not in existing
    ]
    return (*values, *added)


def _mark_words(row: Floats, words: Iterable[Words], columns: dict[str, int]) -> None:
    for word_set in words:
        for word in word_set:
            row[columns[word]] = 1


def find_unquoted_kind(value: StatedValue) -> ValueKind:
    """Return a value's kind, ignoring quotation marks, which do not change its meaning."""
    if value.kind is ValueKind.LIST:
        return find_unquoted_kind(value.parts[0])
    if value.kind is not ValueKind.QUOTED:
        return value.kind
    text = value.text.strip()
    if SPACED_PATH.fullmatch(text):
        return ValueKind.PATH
    for kind, pattern in _FULL_PATTERNS.items():
        if kind not in (ValueKind.NAME, ValueKind.CODE) and pattern.fullmatch(text):
            return kind
    return ValueKind.QUOTED


def _is_numeric(value: StatedValue) -> bool:
    if isinstance(value.value, int | float):
        return True
    return (
        value.kind in (ValueKind.QUOTED, ValueKind.PHRASE, ValueKind.CODE)
        and parse_number(value.text) is not None
    )


def words_for_unit(value: StatedValue) -> Words:
    """Return the words of parameters measured in a value's unit; empty without a unit."""
    return UNIT_WORDS.get(value.unit, frozenset())


def find_phrase_spans(text: str, phrases: Iterable[str]) -> list[tuple[int, int]]:
    """Return the spans of lower-case phrases in a text, whatever separates their words."""
    tokens = tokenize(text)
    positions_by_word: dict[str, list[int]] = {}
    for position, token in enumerate(tokens):
        for form in {token[2], *canonicalize_word(token[2])}:
            positions_by_word.setdefault(form, []).append(position)
    spans = []
    for phrase in phrases:
        words = phrase.split()
        for position in positions_by_word.get(words[0], ()) if words else ():
            part = tokens[position : position + len(words)]
            if len(part) == len(words) and all(
                word == token[2] or word in canonicalize_word(token[2])
                for word, token in zip(words, part, strict=True)
            ):
                spans.append((part[0][0], part[-1][1]))
    return [span for span in spans if text[span[0] : span[1]].lower() not in STOP_WORDS]
