"""Finds the words that state a value from what a reader says of each token."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
LEAST: Final = 1e-4
"""Probabilities nearer to 0 or 1 count as this: a single word cannot outweigh all others."""
WHOLE_BONUS: Final = 2.0
"""Log-odds in favour of what is one value by its form."""
MAX_WORDS: Final = 40
"""Words of a value; of a script without spaces, characters."""
ROUNDS: Final = 6
"""How often the values of several questions make room for each other."""


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
    marked = []
    for word in words:
        share = float(inside[list(word.tokens)].mean())
        if is_number and not word.has_digit:
            share = min(share, WITHOUT_DIGIT)
        begins = min(share, float(tags[word.tokens[0], 1]))
        marked.append(MarkedWord(word.start, word.end, share, begins))
    return tuple(marked)


def weigh_values(words: Sequence[MarkedWord], wholes: Sequence[Span] = ()) -> Vectors:
    """Return how likely each run of words is to be the value, given that one is stated.

    Args:
        words: Of the text, n.
        wholes: Parts of the text that are a value by their form, such as quoted ones.

    Returns:
        `(n, n)` by the first and the last word; sums to 1.

    References:
        Sarawagi and Cohen, Semi-Markov Conditional Random Fields, NIPS 2004, for one segment.
    """
    inside = np.array([word.inside for word in words])
    begins = np.clip([word.begins for word in words], LEAST, 1 - LEAST)
    outside = np.clip(1 - inside, LEAST, 1 - LEAST)
    goes_on = np.log(np.clip(inside - begins, LEAST, 1 - LEAST) / outside)
    until = goes_on.cumsum()
    odds = until[None, :] - until[:, None] + np.log(begins / outside)[:, None]
    for start, end in wholes:
        places = [n for n, word in enumerate(words) if word.start < end and word.end > start]
        if places:
            odds[places[0], places[-1]] += WHOLE_BONUS
    is_run = np.triu(np.ones_like(odds, dtype=bool)) & ~np.triu(
        np.ones_like(odds, dtype=bool), MAX_WORDS
    )
    shares = np.exp(np.where(is_run, odds - odds[is_run].max(), -np.inf))
    return np.asarray(shares / shares.sum(), dtype=np.float32)


def share_words(
    weights: Sequence[tuple[float, Vectors]], taken: NDArray[np.float64]
) -> list[Vectors]:
    """Return how likely each run of words is to be what each question asks for.

    A word serves one question only, so that what is likely for one is less so for all others:
    mean field, in `ROUNDS` rounds.

    Args:
        weights: Of each question, the probability that a value is stated, and `weigh_values`.
        taken: `(n,)`; the probability that a word serves another purpose.

    Returns:
        `(n, n)` for each question; what is missing to 1 is the probability of no value.
    """
    found = [probability * runs for probability, runs in weights]
    free = np.log(np.clip(1 - taken, LEAST, 1.0))
    for _ in range(ROUNDS):
        left = np.log(np.clip([1 - _cover(one) for one in found], LEAST, 1.0))
        rest = left.sum(0)
        for place, (probability, runs) in enumerate(weights):
            until = np.concatenate([[0.0], (free + rest - left[place]).cumsum()])
            likely = probability * runs * np.exp(np.minimum(0, until[None, 1:] - until[:-1, None]))
            likely /= 1 - probability + likely.sum() + LEAST
            found[place] = (found[place] + likely) / 2  # undamped, two equal claims swing
    return found


def _cover(runs: Vectors) -> Vectors:
    """Return `(n,)`: how likely each word is to be part of the value."""
    begun, ended = runs.sum(1).cumsum(), runs.sum(0).cumsum()
    return np.asarray(begun - np.concatenate([[0.0], ended[:-1]]))


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
