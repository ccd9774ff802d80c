"""Split names into words, and normalise words of the same meaning."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from graph.data_flow.vocabulary import ALIASES, ATTRIBUTES, COMPOUNDS

MAX_NAME = 120
"""Characters of a name that are read."""
MAX_WORDS = 12
_WORD: Final = re.compile(
    r"(?:ID|URL|URI|API)s?(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+"
    r"|[^\W\d_A-Za-z]+"
)
_INVARIANT_NOUNS: Final = {
    "news",
    "series",
    "status",
    "analysis",
    "basis",
    "canvas",
    "gas",
    "lens",
    "https",
}


class NounTerm(NamedTuple):
    """A thing and the attribute that identifies it.

    Attributes:
        thing: Words, the noun last; empty if only the attribute is named.
        attribute: `id`, `name`, `url`…; empty for the thing itself.
    """

    thing: tuple[str, ...]
    attribute: str


@lru_cache(maxsize=65_536)
def split_name(name: str) -> tuple[str, ...]:
    """Return the words of a name, canonical and in the singular; numbers are left out.

    Example:
        >>> split_name("destinationEntityIDs"), split_name("repo-names"), split_name("file1_path")
        (('destination', 'entity', 'id'), ('repository', 'name'), ('file', 'path'))
        >>> split_name("username"), split_name("categories")
        (('user', 'name'), ('category',))
    """
    words = (canonical for word in split_raw_name(name) for canonical in canonicalize_word(word))
    return tuple(word for word, _ in groupby(words))[:MAX_WORDS]  # ticker_symbol repeats itself


def split_raw_name(name: str) -> list[str]:
    """Return the words of a name, only lower-cased; numbers are left out."""
    return [word.lower() for word in _WORD.findall(name[:MAX_NAME]) if not word.isdigit()]


@lru_cache(maxsize=65_536)
def canonicalize_word(word: str) -> tuple[str, ...]:
    """Return the canonical form of a lower-case word: one word, or two for a compound."""
    for form in (word, singularize_word(word)):
        if form in ALIASES:
            return (ALIASES[form],)
        if form in COMPOUNDS:
            return COMPOUNDS[form]
    return (singularize_word(word),)


def singularize_word(word: str) -> str:
    """Return the singular of an English noun, by rule.

    Example:
        >>> [singularize_word(word) for word in ("cities", "boxes", "flights", "news", "status")]
        ['city', 'box', 'flight', 'news', 'status']
    """
    if (
        len(word) < 4
        or word in _INVARIANT_NOUNS
        or not word.endswith("s")
        or word.endswith(("ss", "us"))
    ):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y" if word not in ("movies", "cookies") else word[:-1]
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=65_536)
def parse_term(words: tuple[str, ...]) -> NounTerm:
    """Read words as a thing and an attribute of it.

    Example:
        >>> parse_term(("restaurant", "name"))
        NounTerm(thing=('restaurant',), attribute='name')
        >>> parse_term(("departure", "time"))
        NounTerm(thing=('departure', 'time'), attribute='')
    """
    if words and words[-1] in ATTRIBUTES:
        return NounTerm(words[:-1], words[-1])
    return NounTerm(words, "")
