"""Split names into words and bring words that mean the same to one spelling."""

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
_KEPT: Final = {"news", "series", "status", "analysis", "basis", "canvas", "gas", "lens", "https"}


class Term(NamedTuple):
    """A thing, and by which of its attributes it is told from others.

    Attributes:
        thing: Words, the noun last; empty where only the attribute is named.
        attribute: `id`, `name`, `url`…; empty where the thing itself is meant.
    """

    thing: tuple[str, ...]
    attribute: str


@lru_cache(maxsize=65_536)
def split(name: str) -> tuple[str, ...]:
    """Return the words of a name, canonical and in the singular; numbers are left out.

    Example:
        >>> split("destinationEntityIDs"), split("repo-names"), split("file1_path")
        (('destination', 'entity', 'id'), ('repository', 'name'), ('file', 'path'))
        >>> split("username"), split("categories")
        (('user', 'name'), ('category',))
    """
    found = (one for word in raw_words(name) for one in canonical(word))
    return tuple(word for word, _ in groupby(found))[:MAX_WORDS]  # ticker_symbol says it twice


def raw_words(name: str) -> list[str]:
    """Return the words of a name as they stand there, in lower case; numbers are left out."""
    return [word.lower() for word in _WORD.findall(name[:MAX_NAME]) if not word.isdigit()]


@lru_cache(maxsize=65_536)
def canonical(word: str) -> tuple[str, ...]:
    """Return what a word in lower case stands for: one word, or two written together."""
    for form in (word, singular(word)):
        if form in ALIASES:
            return (ALIASES[form],)
        if form in COMPOUNDS:
            return COMPOUNDS[form]
    return (singular(word),)


def singular(word: str) -> str:
    """Return the singular of an English noun, by rule.

    Example:
        >>> [singular(word) for word in ("cities", "boxes", "flights", "news", "status")]
        ['city', 'box', 'flight', 'news', 'status']
    """
    if len(word) < 4 or word in _KEPT or not word.endswith("s") or word.endswith(("ss", "us")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y" if word not in ("movies", "cookies") else word[:-1]
    if word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=65_536)
def term(words: tuple[str, ...]) -> Term:
    """Read words as a thing and an attribute of it.

    Example:
        >>> term(("restaurant", "name"))
        Term(thing=('restaurant',), attribute='name')
        >>> term(("departure", "time"))
        Term(thing=('departure', 'time'), attribute='')
    """
    if words and words[-1] in ATTRIBUTES:
        return Term(words[:-1], words[-1])
    return Term(words, "")
