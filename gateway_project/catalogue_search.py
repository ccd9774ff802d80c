"""Search of the catalogue in memory, for when the database cannot be reached."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from tools.catalogue import CatalogueTool

NAME_WEIGHT: Final = 3.0
"""A word in a tool's name says more than one in its description."""
STEM_LENGTH: Final = 5
"""Words of this length and more match those that begin alike: file, files, filing."""
MAX_NAMED: Final = 4

_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def rank(
    query: str, tools: Iterable[CatalogueTool], *, limit: int
) -> list[tuple[CatalogueTool, float, tuple[str, ...]]]:
    """Rank tools by the words they share with a query, rare words counting more.

    Args:
        query: What the tool should do, in words.
        tools: Those to choose from.
        limit: Tools returned at most.

    Returns:
        Tool, score in [0, 1] and reasons, best first; ties by id. Tools that share no word are
        left out.
    """
    documents = [(tool, _stems(_split(tool.name)), _stems(_text(tool))) for tool in tools]
    wanted = {_stem(word): word for word in _split(query)}
    seen = Counter(stem for _, name, text in documents for stem in wanted if stem in name | text)
    weights = {stem: math.log(1 + len(documents) / seen[stem]) for stem in seen}
    possible = (NAME_WEIGHT + 1) * sum(weights.values())
    scored = []
    for tool, name, text in documents:
        shared = [stem for stem in weights if stem in name or stem in text]
        if shared:
            worth = sum(
                weights[stem] * (NAME_WEIGHT * (stem in name) + (stem in text)) for stem in shared
            )
            scored.append((tool, worth / possible, _reason(wanted[stem] for stem in shared)))
    scored.sort(key=lambda entry: (-entry[1], entry[0].tool))
    return scored[:limit]


def _text(tool: CatalogueTool) -> list[str]:
    return _split(f"{tool.server} {tool.title} {tool.description}")


def _split(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(_HUMP.sub(" ", text))]


def _stems(words: Sequence[str]) -> frozenset[str]:
    return frozenset(_stem(word) for word in words)


def _stem(word: str) -> str:
    """Cut what inflection adds to an English word, roughly.

    Example:
        >>> _stem("files"), _stem("listing"), _stem("log")
        ('file', 'list', 'log')
    """
    for ending in ("ing", "ed", "es", "s"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= STEM_LENGTH - 1:
            return base
    return word


def _reason(words: Iterable[str]) -> tuple[str, ...]:
    named = ", ".join(f"'{word}'" for word in list(words)[:MAX_NAMED])
    return (f"matches {named}",)
