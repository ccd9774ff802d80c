"""Turn text into lexemes: the stems by which words are indexed and looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import Stemmer

from tools.word_lists import load_word_lists

STEMMER_VERSION: Final = str(Stemmer.version())
"""Another version may stem some words differently; what it indexed is indexed again."""
MAX_LEXEME_CHARS: Final = 200
"""Longer runs of characters are no words, and PostgreSQL cannot index long keys."""
KEY_CACHE_SIZE: Final = 32_768

_WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_SEPARATOR = re.compile(r"[-.]")
_STEMMER = Stemmer.Stemmer("english", 0)
_BLOCK_BYTES = 12
_MASK = 0xFFFFFFFF

STOP_WORDS: Final = frozenset(load_word_lists("english")["stop words"].split())
"""The English stop words of PostgreSQL (`english.stop`)."""


@dataclass(frozen=True, kw_only=True)
class WeightedText:
    """A part of a tool's text with the weight of its words.

    Attributes:
        text: Words separated by spaces.
        weight: Contribution of one occurrence to a word's frequency.
        is_name: Whether it is the tool's name or title.
    """

    text: str
    weight: float
    is_name: bool = False


def split_lexemes(text: str) -> Iterator[str]:
    """Split a text into lexemes, in order, without stop words.

    A word with hyphens or dots is followed by its parts. Words of other languages than English
    are hardly changed.

    Example:
        >>> list(split_lexemes("Converting the time-zones of user_ids"))
        ['convert', 'time-zon', 'time', 'zone', 'user', 'id']
    """
    for word in _WORD.findall(text.lower()):
        parts = _SEPARATOR.split(word)
        for part in (word, *parts) if len(parts) > 1 else parts:
            if part not in STOP_WORDS and len(part) <= MAX_LEXEME_CHARS:
                yield _STEMMER.stemWord(part)


def map_lexemes(words: Iterable[str]) -> dict[str, str]:
    """Return the first word of each lexeme, by lexeme."""
    found: dict[str, str] = {}
    for word in words:
        for lexeme in split_lexemes(word):
            found.setdefault(lexeme, word)
    return found


def count_lexemes(fields: Iterable[WeightedText]) -> dict[str, tuple[float, bool]]:
    """Return the weighted frequency of each lexeme, and whether a name contains it."""
    counted: dict[str, tuple[float, bool]] = {}
    for field in fields:
        for lexeme in split_lexemes(field.text):
            frequency, in_name = counted.get(lexeme, (0.0, False))
            counted[lexeme] = (frequency + field.weight, in_name or field.is_name)
    return counted


@lru_cache(maxsize=KEY_CACHE_SIZE)
def hash_lexeme(lexeme: str) -> int:
    """Return the key of a lexeme: PostgreSQL's `hashtextextended(lexeme, 0)`.

    The database computes the keys of postings so, and intents are stored as keys.

    References:
        Bob Jenkins, lookup3.c (2006), as in PostgreSQL's `hash_bytes_extended`.
    """
    data = lexeme.encode()
    a = b = c = (0x9E3779B9 + len(data) + 3923095) & _MASK
    while len(data) >= _BLOCK_BYTES:
        a, b, c = (
            (state + int.from_bytes(data[at : at + 4], "little")) & _MASK
            for state, at in ((a, 0), (b, 4), (c, 8))
        )
        for bits in (4, 6, 8, 16, 19, 4):
            a, b, c = b, (c + b) & _MASK, ((a - c) & _MASK) ^ _rotate(c, bits)
        data = data[_BLOCK_BYTES:]
    a = (a + int.from_bytes(data[:4], "little")) & _MASK
    b = (b + int.from_bytes(data[4:8], "little")) & _MASK
    c = (c + (int.from_bytes(data[8:], "little") << 8)) & _MASK
    for bits in (14, 11, 25, 16, 4, 14, 24):
        a, b, c = b, ((c ^ b) - _rotate(b, bits)) & _MASK, a
    key = a << 32 | b
    return key - (1 << 64) if key >> 63 else key


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK
