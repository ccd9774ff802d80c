"""Tell from an intent whether something is to be turned on or off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from graph.binding.found import Found
from graph.binding.schemas import Parameter
from graph.binding.steps import Source
from graph.binding.vocabulary import OFF, ON, SWITCHES, one_meaning
from graph.data_flow.words import raw_words

WINDOW = 3
"""Words before what is named in which it is turned on or off."""
CONFIDENCE = 0.8
_TOKEN: Final = re.compile(r"[^\W_]+(?:'[a-z]+)?|[.;!?]")


def switched(parameter: Parameter, text: str) -> Found | None:
    """Return whether an intent turns a parameter on or off; None where it does not say.

    The words of the parameter's name must stand together, after a word such as "including" or
    "without": "including hidden files" turns `show_hidden` on.
    """
    wanted = [word for word in raw_words(parameter.name) if word not in SWITCHES | OFF]
    if not wanted:
        return None
    tokens = _tokens(text)
    for place in range(len(tokens) - len(wanted) + 1):
        if not _alike(wanted[0], tokens[place][0]):
            continue
        part = tokens[place : place + len(wanted)]
        if not all(_alike(word, token[0]) for word, token in zip(wanted, part, strict=True)):
            continue
        before = [token[0] for token in tokens[max(0, place - WINDOW) : place]]
        decided = _decided(before)
        if decided is not None:
            start = tokens[max(0, place - WINDOW)][1]
            told = text[start : part[-1][2]]
            is_inverse = not OFF.isdisjoint(raw_words(parameter.name))
            return Found(
                value=decided is not is_inverse,
                source=Source.LITERAL,
                evidence=f"the intent says “{told}”",
                confidence=CONFIDENCE,
            )
    return None


@lru_cache(maxsize=64)
def _tokens(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((m[0].lower(), m.start(), m.end()) for m in _TOKEN.finditer(text))


def _alike(wanted: str, told: str) -> bool:
    return wanted == told or not one_meaning(wanted).isdisjoint(one_meaning(told))


def _decided(before: Sequence[str]) -> bool | None:
    """Return what the nearest word that turns on or off says; a negation wins over it."""
    for place in range(len(before) - 1, -1, -1):
        if before[place] in ".;!?":
            return None
        if before[place] in OFF:
            return False
        if before[place] in ON:
            return OFF.isdisjoint(before[max(0, place - 2) : place])
    return None
