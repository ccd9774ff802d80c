"""Finds the words that state a value from what a reader says of each token."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tools.embed.embedder import Vectors
from tools.embed.reader import MarkedWord, Span

_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")
"""What spaces separate, or one character of a script without spaces."""
_OPENING: Final = "\"'`“”‘’«»([{<,;:!?¿¡。，、（「"  # noqa: RUF001 - as typed
_CLOSING: Final = "\"'`“”‘’«»)]}>,;:!?.。，、）」"  # noqa: RUF001 - as typed
_QUOTES: Final = "\"'`"
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
MIN_ITEM: Final = 0.5
"""Least probability of a word to be part of a list's item."""
WITHOUT_DIGIT: Final = 0.3
"""Highest probability of a word without a digit to be part of a number."""
LEAST: Final = 1e-3
"""Probabilities nearer to 0 or 1 count as this: a single word cannot outweigh all others."""
WHOLE_BONUS: Final = 2.0
"""Log-odds in favour of what is one value by its form."""


class StatedSpan(NamedTuple):
    """Words of a text that state a value.

    Attributes:
        start: Of the first character.
        end: After the last character.
        probability: That these words, and none beside them, are the value, in [0, 1].
    """

    start: int
    end: int
    probability: float


class Word(NamedTuple):
    """A word of a text: its place, without punctuation around it, and its tokens."""

    start: int
    end: int
    tokens: tuple[int, ...]
    has_digit: bool


def split_words(text: str, offsets: Sequence[Span]) -> list[Word]:
    """Return the words of a text that a reader saw.

    Args:
        text: The text.
        offsets: Start and end of each token in it; empty for special tokens.

    Example:
        >>> text = 'say "hi", (a)[0]'
        >>> [text[one.start : one.end] for one in split_words(text, [(0, 16)])]
        ['say', 'hi', '(a)[0]']
    """
    words = []
    for match in _WORD.finditer(text):
        start, end = _trim(text, *match.span())
        tokens = tuple(n for n, (a, z) in enumerate(offsets) if a < end and z > start)
        if start < end and tokens:
            has_digit = any(map(str.isdigit, text[start:end]))
            words.append(Word(start, end, tokens, has_digit))
    return words


def _trim(text: str, start: int, end: int) -> Span:
    """Leave out punctuation around a word, but not brackets and quotes that belong to it."""
    while start < end and text[start] in _OPENING:
        if _PAIRS.get(text[start], " ") in text[start + 1 : end - 1]:
            break
        start += 1
    while start < end and text[end - 1] in _CLOSING:
        if text[end - 1] in _QUOTES and text[end - 1] in text[start : end - 1]:
            break
        if any(
            text[end - 1] == last and first in text[start:end] for first, last in _PAIRS.items()
        ):
            break
        end -= 1
    return start, end


def mark_words(words: Sequence[Word], tags: Vectors, *, is_number: bool) -> tuple[MarkedWord, ...]:
    """Return the words with their probabilities.

    Args:
        words: Of the text.
        tags: `(tokens, 3)`; that a token is outside a value, begins or continues one.
        is_number: Whether only numbers are values.
    """
    inside = 1 - tags[:, 0]
    return tuple(
        MarkedWord(
            word.start,
            word.end,
            min(share, WITHOUT_DIGIT) if is_number and not word.has_digit else share,
            float(tags[word.tokens[0], 1]),
        )
        for word in words
        for share in [float(inside[list(word.tokens)].mean())]
    )


def find_value(words: Sequence[MarkedWord], wholes: Sequence[Span] = ()) -> StatedSpan | None:
    """Return the words side by side that are likeliest to be all of one value.

    The sum of log-odds is largest for them: Bentley, Programming Pearls, CACM 27 (1984).

    Args:
        words: Of the text.
        wholes: Parts of the text that are a value by their form, such as quoted ones; one is
            taken if it is almost as likely.
    """
    odds = [_compute_odds(word.inside) for word in words]
    best, total, first = (0.0, 0, 0), 0.0, 0
    for place, one in enumerate(odds):
        if total <= 0:
            total, first = 0.0, place
        total += one
        best = max(best, (total, first, place + 1), key=lambda found: found[0])
    for start, end in wholes:
        places = [n for n, word in enumerate(words) if word.start < end and word.end > start]
        if places and places[0] < best[2] and best[1] <= places[-1]:
            total = sum(odds[place] for place in places) + WHOLE_BONUS
            best = max(best, (total, places[0], places[-1] + 1), key=lambda found: found[0])
    _, first, last = best
    if first == last:
        return None
    beside = (*words[max(0, first - 1) : first], *words[last : last + 1])
    clear = math.prod(1 - word.inside for word in beside)
    mean = sum(word.inside for word in words[first:last]) / (last - first)
    return StatedSpan(words[first].start, words[last - 1].end, mean * math.sqrt(clear))


def _compute_odds(probability: float) -> float:
    bounded = min(max(probability, LEAST), 1 - LEAST)
    return math.log(bounded / (1 - bounded))


def leave_out(words: Sequence[MarkedWord], spans: Sequence[Span]) -> tuple[MarkedWord, ...]:
    """Return the words as if those in some spans, which serve another purpose, were no values."""
    return tuple(
        word._replace(inside=LEAST, begins=LEAST)
        if any(word.start < end and start < word.end for start, end in spans)
        else word
        for word in words
    )


def iterate_items(words: Sequence[MarkedWord]) -> Iterator[StatedSpan]:
    """Yield the items of a list: words side by side, up to one that begins another."""
    item: list[MarkedWord] = []
    for word in (*words, None):
        is_part = word is not None and word.inside > MIN_ITEM
        if item and (word is None or not is_part or word.begins > MIN_ITEM):
            mean = sum(one.inside for one in item) / len(item)
            yield StatedSpan(item[0].start, item[-1].end, mean)
            item = []
        if word is not None and is_part:
            item.append(word)
