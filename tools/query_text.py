"""What is searched for: bounded, cleaned, split into sentences and words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools import embedding_text

MAX_CHARS = 4_000
"""Beyond this no model reads on; a longer query is cut, with a warning."""

MAX_SENTENCES = 6
MIN_SENTENCE_WORDS = 3
MIN_SENTENCE_CHARS = 9  # for scripts that put no spaces between words
MAX_WORDS = 200

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")  # noqa: RUF001 - CJK marks
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")  # noqa: RUF001 - an apostrophe as people type it


class QueryError(ValueError):
    """A query that nothing can be searched with; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query made ready.

    Attributes:
        text: The whole, cleaned and bounded.
        sentences: Its sentences, where there are several; each is embedded by itself too.
        words: Its words, those inside compound names included.
        is_cut: Whether it was longer than what is read.
    """

    text: str
    sentences: tuple[str, ...]
    words: tuple[str, ...]
    is_cut: bool


def read(raw: str) -> Query:
    """Make a query ready.

    Raises:
        QueryError: If nothing is left of it without control characters and white space.

    Example:
        >>> read("Find a flight. Then book a hotel!").sentences
        ('Find a flight.', 'Then book a hotel!')
    """
    lines = [
        embedding_text.clean(line, limit=2 * MAX_CHARS)
        for line in raw[: 2 * MAX_CHARS].splitlines()
    ]
    whole = "\n".join(line for line in lines if line)
    if not whole:
        raise QueryError("the query is empty: say in words what the tool should do")
    text = whole[:MAX_CHARS]
    return Query(
        text=text.replace("\n", " "),
        sentences=_sentences(text),
        words=_words(text),
        is_cut=len(whole) > MAX_CHARS or len(raw) > 2 * MAX_CHARS,
    )


def _sentences(text: str) -> tuple[str, ...]:
    parts = [part.strip() for part in _SENTENCE_END.split(text)]
    told = [
        part
        for part in parts
        if len(part.split()) >= MIN_SENTENCE_WORDS
        or (not part.isascii() and len(part) >= MIN_SENTENCE_CHARS)
    ]
    return tuple(told[:MAX_SENTENCES]) if len(told) > 1 else ()


def _words(text: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for word in _WORD.findall(embedding_text.pairs(text)):
        found[word] = None
        parts = embedding_text.split_name(word).split()
        # Parts of compound names and file names; numbers and letters of dates are noise.
        found |= dict.fromkeys(part for part in parts if len(part) > 1 and not part.isdigit())
    return tuple(found)[:MAX_WORDS]
