"""Find the tools that descriptions of inputs or tools name as the source of a value."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from graph.data_flow.endpoints import ToolEndpoints
from graph.data_flow.vocabulary import ACTION_WORDS, LEADING_ACTION_WORDS
from graph.data_flow.words import split_name

MAX_TEXT = 600
MAX_DOCUMENT = 3_000
"""Characters of a tool's description that are read."""
MAX_RIVALS = 3
"""Tools that one mention may refer to; with more it is ignored."""
MAX_GRAM = 6
_SOURCE_PHRASE: Final = re.compile(
    r"\b(?:(?:obtain|extract|retriev|return|receiv|fetch|provid|generat|creat)(?:s|ed|d)?"
    r"|got|gotten|taken|given|found|known|comes?|from|via|through|outputs?|results?|call)\b",
    re.IGNORECASE,
)
_LATER_PHRASE: Final = re.compile(
    r"\b(?:later|afterwards|subsequent\w*|to be used|for use|before (?:using|calling)"
    r"|same as|instead|similar to|do not|don't|never)\b",
    re.IGNORECASE,
)
_PREREQUISITE_PHRASE: Final = re.compile(
    r"\b(?:must|should|need to|have to|please|always)\s+(?:call|use|run|invoke)\s+"
    r"(?:the\s+)?(\S+)\s+(?:\w+\s+){0,2}first\b"
    r"|\b(?:first|before (?:using|calling) this(?: tool| function)?,?)\s+"
    r"(?:call|use|run|invoke)\s+(?:the\s+)?(\S+)"
    r"|\b(?:obtained|returned|retrieved|provided|results?|outputs?|ids?|identifiers?)\s+"
    r"(?:from|by|of|via)\s+(?:the\s+)?(\S+)",
    re.IGNORECASE,
)
_IDENTIFIER_LIKE: Final = re.compile(  # bounded: tried at each letter
    r"[A-Za-z][A-Za-z0-9]{0,127}(?:[_-][A-Za-z0-9]+)+|[a-z]{1,128}(?:[A-Z][a-z0-9]+)+"
)
_WORDS: Final = re.compile(r"[^\W_]+(?:['_-][^\W_]+)*|[.;\n]")
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+|\n+|。")


class ToolNameIndex:
    """The names of all tools, in the forms that texts use."""

    def __init__(self, tools: Sequence[ToolEndpoints]) -> None:
        self._literal: dict[str, list[int]] = defaultdict(list)
        self._spoken: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, one in enumerate(tools):
            self._literal[one.tool.name.lower()].append(place)
            for words in _spoken_name_forms(one.tool.name):
                self._spoken[words].append(place)

    def find_sources(self, description: str) -> Iterator[tuple[int, ...]]:
        """Yield the tools that the description of an input names as the source of its value."""
        for sentence in _SENTENCES.split(description[:MAX_TEXT]):
            if not _LATER_PHRASE.search(sentence):
                yield from self._find_literal_names(sentence)
                cue = _SOURCE_PHRASE.search(sentence)
                yield from self._find_spoken_names(sentence[cue.start() :]) if cue else ()

    def _find_spoken_names(self, text: str) -> Iterator[tuple[int, ...]]:
        words: list[str] = []
        for token in _WORDS.findall(text):
            words.extend(split_name(token.removesuffix("'s")) or ("",))
        place = 0
        while place < len(words):
            longest = next(self._iterate_grams(words, place), None)
            if longest is not None:
                yield tuple(self._spoken[longest])
            place += len(longest) if longest else 1

    def _iterate_grams(self, words: Sequence[str], place: int) -> Iterator[tuple[str, ...]]:
        for size in range(min(MAX_GRAM, len(words) - place), 1, -1):
            gram = tuple(words[place : place + size])
            if gram in self._spoken:
                yield gram

    def find_prerequisites(self, description: str) -> Iterator[tuple[int, ...]]:
        """Yield the tools that a tool's description says to call before it."""
        for groups in _PREREQUISITE_PHRASE.findall(description[:MAX_DOCUMENT]):
            yield from self._find_literal_names("".join(groups))

    def _find_literal_names(self, text: str) -> Iterator[tuple[int, ...]]:
        for literal in _IDENTIFIER_LIKE.findall(text):
            if literal.lower() in self._literal:
                yield tuple(self._literal[literal.lower()])


def _spoken_name_forms(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the word sequences by which a text may refer to a name: its end, from a verb on."""
    words = split_name(name)
    verbs = [
        i for i, word in enumerate(words) if word in (ACTION_WORDS if i else LEADING_ACTION_WORDS)
    ]
    starts = {0, *(i for i in range(verbs[0] + 1))} if verbs else {0}
    for start in sorted(starts):
        if 2 <= len(words) - start <= MAX_GRAM:
            yield words[start:]
