"""Read from an intent whether a boolean parameter is turned on or off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from graph.data_flow.words import split_raw_name
from graph.suggestion.binding.bound_argument import BoundArgument
from graph.suggestion.binding.schemas import ToolParameter
from graph.suggestion.binding.steps import BindingSource
from graph.suggestion.binding.vocabulary import (
    DISABLING_WORDS,
    ENABLING_WORDS,
    SWITCH_WORDS,
    normalize_word,
)

SWITCH_WINDOW = 3
"""Words before a named option that may turn it on or off."""
SWITCH_CONFIDENCE = 0.8
_TOKEN: Final = re.compile(r"[^\W_]+(?:'[a-z]+)?|[.;!?]")


def read_switch(parameter: ToolParameter, text: str) -> BoundArgument | None:
    """Bind a boolean parameter if the intent turns it on or off; None otherwise.

    The words of the parameter's name must be adjacent, after a word such as "including" or
    "without": "including hidden files" turns `show_hidden` on.
    """
    name_words = [
        word
        for word in split_raw_name(parameter.name)
        if word not in SWITCH_WORDS | DISABLING_WORDS
    ]
    if not name_words:
        return None
    tokens = _tokenize_with_spans(text)
    for position in range(len(tokens) - len(name_words) + 1):
        if not _is_same_word(name_words[0], tokens[position][0]):
            continue
        part = tokens[position : position + len(name_words)]
        if not all(
            _is_same_word(word, token[0]) for word, token in zip(name_words, part, strict=True)
        ):
            continue
        before = [token[0] for token in tokens[max(0, position - SWITCH_WINDOW) : position]]
        is_on = _read_nearest_switch(before)
        if is_on is not None:
            start = tokens[max(0, position - SWITCH_WINDOW)][1]
            quoted = text[start : part[-1][2]]
            is_inverse = not DISABLING_WORDS.isdisjoint(split_raw_name(parameter.name))
            return BoundArgument(
                value=is_on is not is_inverse,
                source=BindingSource.LITERAL,
                evidence=f"the intent says “{quoted}”",
                confidence=SWITCH_CONFIDENCE,
            )
    return None


@lru_cache(maxsize=64)
def _tokenize_with_spans(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((m[0].lower(), m.start(), m.end()) for m in _TOKEN.finditer(text))


def _is_same_word(first: str, second: str) -> bool:
    return first == second or not normalize_word(first).isdisjoint(normalize_word(second))


def _read_nearest_switch(before: Sequence[str]) -> bool | None:
    """Return the state set by the nearest switching word; a negation inverts enabling words."""
    for position in range(len(before) - 1, -1, -1):
        if before[position] in ".;!?":
            return None
        if before[position] in DISABLING_WORDS:
            return False
        if before[position] in ENABLING_WORDS:
            return DISABLING_WORDS.isdisjoint(before[max(0, position - 2) : position])
    return None
