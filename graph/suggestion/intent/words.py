"""Split a text into the words that are looked up in the index of the tools' texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools import embedding_text

MAX_WORDS = 400
"""Words per text: twice the non-stop words in 4,000 characters of prose."""

_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")  # noqa: RUF001 - an apostrophe as people type it
_LETTER = re.compile(r"[^\W\d_]")


def split_words(text: str) -> tuple[str, ...]:
    """List the words in order, with repetitions.

    Compound names are followed by their parts; numbers and single Latin letters are left out.

    Example:
        >>> split_words("Run getHTTPResponse for 42 pages")
        ('Run', 'getHTTPResponse', 'get', 'HTTP', 'Response', 'for', 'pages')
    """
    return tuple(_iterate_words(embedding_text.split_into_pairs(text)))[:MAX_WORDS]


def _iterate_words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if not _LETTER.search(word):
            continue
        yield word
        parts = embedding_text.split_name(word).split()
        if len(parts) > 1:
            yield from (part for part in parts if len(part) > 1 and not part.isdigit())
