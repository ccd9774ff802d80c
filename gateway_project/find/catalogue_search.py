"""Search the catalogue in memory by words, for when the database is unavailable."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tools.catalogue import CatalogueTool
from tools.name_words import split_camel_case

NAME_WEIGHT: Final = 3.0
"""Weight of a word in a tool's name, relative to one in its description."""
STEM_LENGTH: Final = 5
"""Words of this length and more match those that begin alike: file, files, filing."""
MAX_REASON_WORDS: Final = 4
MAX_TEXT_CHARS: Final = 4_000
"""Characters of a tool's title and description each; as many as are embedded."""

_WORD: Final = re.compile(r"[^\W_]+")


def rank_by_words(
    query: str, tools: Iterable[CatalogueTool], *, limit: int
) -> list[tuple[CatalogueTool, float, tuple[str, ...]]]:
    """Rank tools by the words they share with a query, rare words counting more.

    Args:
        query: What the tool should do, in words.
        tools: Tools to choose from.
        limit: Maximum number of tools returned.

    Returns:
        Tool, score in [0, 1] and reasons, best first; ties by id. Tools that share no word are
        left out.
    """
    documents = [
        (tool, _stem_words(_split_words(tool.name)), _stem_words(_tool_words(tool)))
        for tool in tools
    ]
    query_words = {_stem_word(word): word for word in _split_words(query)}
    document_counts = Counter(
        stem for _, name, text in documents for stem in query_words if stem in name | text
    )
    weights = {
        stem: math.log(1 + len(documents) / document_counts[stem]) for stem in document_counts
    }
    max_worth = (NAME_WEIGHT + 1) * sum(weights.values())
    scored = []
    for tool, name, text in documents:
        shared = [stem for stem in weights if stem in name or stem in text]
        if shared:
            worth = sum(
                weights[stem] * (NAME_WEIGHT * (stem in name) + (stem in text)) for stem in shared
            )
            scored.append(
                (tool, worth / max_worth, _explain_match(query_words[stem] for stem in shared))
            )
    scored.sort(key=lambda entry: (-entry[1], entry[0].tool))
    return scored[:limit]


def _tool_words(tool: CatalogueTool) -> list[str]:
    return _split_words(
        f"{tool.server} {tool.title[:MAX_TEXT_CHARS]} {tool.description[:MAX_TEXT_CHARS]}"
    )


def _split_words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(split_camel_case(text))]


def _stem_words(words: Sequence[str]) -> frozenset[str]:
    return frozenset(_stem_word(word) for word in words)


def _stem_word(word: str) -> str:
    """Remove the inflection of an English word, roughly.

    Example:
        >>> _stem_word("files"), _stem_word("listing"), _stem_word("log")
        ('file', 'list', 'log')
    """
    for ending in ("ing", "ed", "es", "s"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= STEM_LENGTH - 1:
            return base
    return word


def _explain_match(words: Iterable[str]) -> tuple[str, ...]:
    named = ", ".join(f"'{word}'" for word in list(words)[:MAX_REASON_WORDS])
    return (f"matches {named}",)
