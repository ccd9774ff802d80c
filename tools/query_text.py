"""Prepare queries: bound, clean and split them into sentences and words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools import embedding_text
from tools.idioms import rewrite_idioms
from tools.translate import gloss_text
from tools.value_words import describe_values, find_file_names

MAX_CHARS = 4_000
"""More than any model reads; a longer query is cut, with a warning."""

MAX_SENTENCES = 6
MIN_SENTENCE_WORDS = 3
MIN_SENTENCE_CHARS = 9  # for scripts that put no spaces between words
MAX_WORDS = 200

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")  # noqa: RUF001 - CJK marks
MAX_SPLIT_CHARS = 160
"""A longer query describes a goal; its parts are its sentences."""
_PART_END = re.compile(
    rf"{_SENTENCE_END.pattern}|,\s+(?:(?:and|then)\s+)*|\s(?:and then|and|then)\s+|[，、]",  # noqa: RUF001
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")  # noqa: RUF001 - an apostrophe as people type it


class QueryError(ValueError):
    """The query cannot be searched for; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class PreparedQuery:
    """A query ready to be searched for.

    Attributes:
        text: The whole query, cleaned and bounded.
        sentences: Its sentences if there are several, and the parts of a short one; each is also
            embedded by itself.
        words: Its words, including those inside compound names, and those of `gloss` and `plain`.
            Whole paths and addresses count as the kind of thing they name.
        plain: The query in English with its idioms in plain words and its values by kind, which
            is also embedded; empty if it has neither.
        gloss: The English for a query in another language, embedded instead of it; empty if it
            needs none.
        is_cut: Whether it exceeded the limit.
    """

    text: str
    sentences: tuple[str, ...]
    words: tuple[str, ...]
    plain: str
    gloss: str
    is_cut: bool

    @property
    def embedded_texts(self) -> list[str]:
        """The whole in English, its sentences, and its plain form: what is embedded, in order."""
        return [
            self.gloss or self.text,
            *self.sentences,
            *((self.plain,) if self.plain else ()),
        ]


def read_query(raw: str) -> PreparedQuery:
    """Clean a query and split it into sentences and words.

    Raises:
        QueryError: If nothing is left but control characters and white space.

    Example:
        >>> read_query("Find a flight. Then book a hotel!").sentences
        ('Find a flight.', 'Then book a hotel!')
    """
    lines = [
        embedding_text.clean_text(line, limit=2 * MAX_CHARS)
        for line in raw[: 2 * MAX_CHARS].splitlines()
    ]
    whole = "\n".join(line for line in lines if line)
    if not whole:
        raise QueryError("the query is empty: describe in words what the tool should do")
    text = whole[:MAX_CHARS]
    gloss = gloss_text(text)
    english = gloss or text
    described = describe_values(english)
    plain = rewrite_idioms(described) or ("" if described == english else described)
    named = " ".join(find_file_names(text))  # they name things; parts of whole paths seldom do
    foreign = describe_values(text) if gloss else ""
    words = dict.fromkeys(
        word for part in (foreign, described, named, plain) for word in split_words(part)
    )
    return PreparedQuery(
        text=text.replace("\n", " "),
        sentences=_split_sentences(english),
        words=tuple(words)[:MAX_WORDS],
        plain=plain,
        gloss=gloss,
        is_cut=len(whole) > MAX_CHARS or len(raw) > 2 * MAX_CHARS,
    )


def _split_sentences(text: str) -> tuple[str, ...]:
    boundary = _PART_END if len(text) <= MAX_SPLIT_CHARS else _SENTENCE_END
    parts = [part.strip() for part in boundary.split(text)]
    sentences = [
        part
        for part in parts
        if len(part.split()) >= MIN_SENTENCE_WORDS
        or (not part.isascii() and len(part) >= MIN_SENTENCE_CHARS)
    ]
    return tuple(sentences[:MAX_SENTENCES]) if len(sentences) > 1 else ()


def split_words(text: str) -> tuple[str, ...]:
    """List the words of a query, each once, including those inside compound names."""
    found: dict[str, None] = {}
    for word in _WORD.findall(embedding_text.split_into_pairs(text)):
        found[word] = None
        parts = embedding_text.split_name(word).split()
        # Parts of compound names and file names; numbers and single letters are noise.
        found |= dict.fromkeys(part for part in parts if len(part) > 1 and not part.isdigit())
    return tuple(found)[:MAX_WORDS]
