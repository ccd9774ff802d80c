"""What an intent states, with the words around it, as arrays."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.binding.value_patterns import PATTERNS, SECRET, Kind
from graph.binding.values import StatedValue, number, stated_values
from graph.binding.vocabulary import STOP, UNITS, Words, told_meaning
from graph.data_flow.words import canonical

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

LEFT = 4
"""Words before a value that speak of it."""
RIGHT = 3
"""Words after it that do."""
_TOKEN: Final = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_WHOLE: Final = {kind: pattern for kind, pattern in PATTERNS if kind is not Kind.QUOTED}


@dataclass(frozen=True, kw_only=True, eq=False)
class Stated:
    """The values of an intent; arrays have one row for each.

    Attributes:
        text: The intent.
        values: Its values.
        kinds: What each looks like; what stands in quotation marks, by itself.
        columns: Column of each word of the intent in the next five.
        left: `(n, w)` whether a word stands shortly before the value.
        right: `(n, w)` whether it stands shortly after.
        own: `(n, w)` whether it is part of the value.
        next_left: `(n, w)` whether it stands right before the value.
        next_right: `(n, w)` whether it stands right after it.
        introduced_by: The word right before each, in lower case.
        followed_by: The word right after it.
        are_numbers: `(n,)`.
        are_secret: `(n,)` whether it looks like a key, a token or a strong password.
        lengths: `(n,)` log(1 + words).
        crowds: `(n,)` -log(values of this kind).
        places: `(n,)` in [0, 1], where in the intent.
    """

    text: str
    values: tuple[StatedValue, ...]
    kinds: tuple[Kind, ...]
    columns: dict[str, int]
    left: Floats
    right: Floats
    own: Floats
    next_left: Floats
    next_right: Floats
    introduced_by: tuple[str, ...]
    followed_by: tuple[str, ...]
    are_numbers: Flags
    are_secret: Flags
    lengths: Floats
    crowds: Floats
    places: Floats

    def incidence(self, words: Sequence[Words]) -> Floats:
        """Return `(len(words), w)`: which of the intent's words are in each set."""
        found = np.zeros((len(words), len(self.columns)), dtype=np.float32)
        columns = self.columns
        for row, some in enumerate(words):
            for word in some & columns.keys():
                found[row, columns[word]] = 1
        return found

    def of_kind(self, *kinds: Kind) -> Flags:
        """Return `(n,)`: which values look like one of these as they stand there."""
        return np.array([one.kind in kinds for one in self.values], dtype=bool)

    def inner_kind(self, kind: Kind) -> Flags:
        """Return `(n,)`: which values look like this, in quotation marks or not."""
        return np.array([one is kind for one in self.kinds], dtype=bool)


@lru_cache(maxsize=64)
def read(text: str, further: tuple[tuple[int, int], ...] = ()) -> Stated:
    """Return what an intent states.

    Args:
        text: The intent.
        further: Spans that are values too, since a schema lists them.
    """
    values = _with_spans(text, stated_values(text), further)
    tokens = tokens_of(text)
    starts, ends = [one[0] for one in tokens], [one[1] for one in tokens]
    meanings = [told_meaning(word) for _, _, word in tokens]
    columns = {word: n for n, word in enumerate(dict.fromkeys(w for m in meanings for w in m))}
    before = [bisect_right(ends, one.start) for one in values]
    after = [bisect_left(starts, one.end) for one in values]
    shape = (len(values), len(columns))
    left, right, own, next_left, next_right = (np.zeros(shape, dtype=np.float32) for _ in range(5))
    for row, (last, first) in enumerate(zip(before, after, strict=True)):
        _mark(left[row], meanings[max(0, last - LEFT) : last], columns)
        _mark(right[row], meanings[first : first + RIGHT], columns)
        _mark(own[row], meanings[last:first], columns)
        _mark(next_left[row], meanings[max(0, last - 1) : last], columns)
        _mark(next_right[row], meanings[first : first + 1], columns)
    counts = Counter(one.kind for one in values)
    return Stated(
        text=text,
        values=values,
        kinds=tuple(_inner(one) for one in values),
        columns=columns,
        left=left,
        right=right,
        own=own,
        next_left=next_left,
        next_right=next_right,
        introduced_by=tuple(tokens[last - 1][2] if last else "" for last in before),
        followed_by=tuple(tokens[n][2] if n < len(tokens) else "" for n in after),
        are_numbers=np.array([_is_number(one) for one in values], dtype=bool),
        are_secret=np.array(
            [SECRET.fullmatch(one.text) is not None for one in values], dtype=bool
        ),
        lengths=np.array([np.log1p(len(one.text.split())) for one in values], dtype=np.float32),
        crowds=np.array([-np.log(counts[one.kind]) for one in values], dtype=np.float32),
        places=np.array([one.start / len(text) for one in values], dtype=np.float32),
    )


@lru_cache(maxsize=64)
def tokens_of(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return the words of a text in lower case, each with where it begins and ends."""
    return tuple((m.start(), m.end(), m[0].lower()) for m in _TOKEN.finditer(text))


def _with_spans(
    text: str, values: tuple[StatedValue, ...], spans: Iterable[tuple[int, int]]
) -> tuple[StatedValue, ...]:
    known = {(one.start, one.end) for one in values}
    more = [
        StatedValue(
            text=text[start:end], value=text[start:end], kind=Kind.PHRASE, start=start, end=end
        )
        for start, end in dict.fromkeys(spans)
        if (start, end) not in known
    ]
    return (*values, *more)


def _mark(row: Floats, words: Iterable[Words], columns: dict[str, int]) -> None:
    for some in words:
        for word in some:
            row[columns[word]] = 1


def _inner(one: StatedValue) -> Kind:
    """Return what a value looks like by itself: quotation marks say nothing of its meaning."""
    if one.kind is Kind.LIST:
        return _inner(one.parts[0])
    if one.kind is not Kind.QUOTED:
        return one.kind
    text = one.text.strip()
    for kind, pattern in _WHOLE.items():
        if kind not in (Kind.NAME, Kind.CODE) and pattern.fullmatch(text):
            return kind
    return Kind.QUOTED


def _is_number(one: StatedValue) -> bool:
    if isinstance(one.value, int | float):
        return True
    return one.kind in (Kind.QUOTED, Kind.PHRASE, Kind.CODE) and number(one.text) is not None


def unit_words(one: StatedValue) -> Words:
    """Return the words of parameters that are measured in a value's unit; empty if it has none."""
    return UNITS.get(one.unit, frozenset())


def spans_of(text: str, phrases: Iterable[str]) -> list[tuple[int, int]]:
    """Return where phrases of lower-case words stand in a text, whatever joins the words there."""
    tokens = tokens_of(text)
    places: dict[str, list[int]] = {}
    for place, token in enumerate(tokens):
        for form in {token[2], *canonical(token[2])}:
            places.setdefault(form, []).append(place)
    found = []
    for phrase in phrases:
        words = phrase.split()
        for place in places.get(words[0], ()) if words else ():
            part = tokens[place : place + len(words)]
            if len(part) == len(words) and all(
                word == token[2] or word in canonical(token[2])
                for word, token in zip(words, part, strict=True)
            ):
                found.append((part[0][0], part[-1][1]))
    return [span for span in found if text[span[0] : span[1]].lower() not in STOP]
