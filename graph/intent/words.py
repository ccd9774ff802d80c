"""The words of a text, in order, as they are looked up in the index of the tools' texts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools import embedding_text

MAX_WORDS = 400
"""Of one text: twice what four thousand characters of prose hold that are not stop words."""

_WORD = re.compile(r"\w+(?:[-'’.]\w+)*")  # noqa: RUF001 - an apostrophe as people type it
_LETTER = re.compile(r"[^\W\d_]")


def words(text: str) -> tuple[str, ...]:
    """List the words in order; one that recurs is listed each time.

    Compound names are followed by their parts; numbers and single Latin letters are left out.

    Example:
        >>> words("Run getHTTPResponse for 42 pages")
        ('Run', 'getHTTPResponse', 'get', 'HTTP', 'Response', 'for', 'pages')
    """
    return tuple(_read(embedding_text.pairs(text)))[:MAX_WORDS]


def _read(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if not _LETTER.search(word):
            continue
        yield word
        parts = embedding_text.split_name(word).split()
        if len(parts) > 1:
            yield from (part for part in parts if len(part) > 1 and not part.isdigit())
