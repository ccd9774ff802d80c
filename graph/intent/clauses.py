"""Cut a text into sentences and clauses, by punctuation and connectives alone.

No list of verbs and no grammar: whatever reads the parts also reads the whole, and takes the best
of several parts, so that a bad cut does little harm.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from graph.intent.masks import QUOTED

MAX_CLAUSES = 12
MAX_SENTENCES = 12
MIN_WORDS = 3
"""A shorter piece belongs to its neighbour; scripts without spaces are never glued."""

MIN_SENTENCE_WORDS = 2
MIN_SENTENCE_CHARS = 6  # for scripts that put no spaces between words

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")  # noqa: RUF001 - CJK marks
_CUT = re.compile(
    r"[,:]\s+(?:(?:and|then|but|also|so|or|plus)\s+)*"
    r"|(?<=\s)(?:and\s+then|and\s+also|and|then|also|but|as\s+well\s+as|followed\s+by"
    r"|after\s+that|afterwards?|before|after|while|finally|plus)\s+"
    r"|[，、：]|(?<=\s)[-–—]\s+|然后|并且|以及",  # noqa: RUF001 - CJK marks and dashes
    re.IGNORECASE,
)
_EDGES = " \t\n,.;:"


@dataclass(frozen=True, kw_only=True)
class Span:
    """A part of a text.

    Attributes:
        start: Index of its first character.
        end: Index after its last.
    """

    start: int
    end: int


def sentences(text: str) -> list[Span]:
    """Find the sentences, without fragments of a word; the whole text where there is none.

    Example:
        >>> text = "Hi. Open it! Now close it."
        >>> [text[span.start:span.end] for span in sentences(text)]
        ['Open it!', 'Now close it.']
    """
    found = [span for span in _between(text, _SENTENCE_END) if _is_sentence(text, span)]
    return (found or [Span(start=0, end=len(text))])[:MAX_SENTENCES]


def clauses(text: str) -> list[Span]:
    """Find the clauses in the order of the text, at most `MAX_CLAUSES`.

    A sentence is cut at commas, colons, dashes and connectives, never inside quotation marks;
    a piece of under `MIN_WORDS` words is joined to its neighbour.

    Example:
        >>> text = "Find a hotel in Rome and Milan, then email it to me"
        >>> [text[c.start:c.end] for c in clauses(text)]
        ['Find a hotel in Rome and Milan', 'email it to me']
    """
    found: list[Span] = []
    for sentence in sentences(text):
        found += _glued(text, _pieces(text, sentence))
    return (found or [Span(start=0, end=len(text))])[:MAX_CLAUSES]


def _between(text: str, ends: re.Pattern[str]) -> list[Span]:
    starts, stops = [0], []
    for match in ends.finditer(text):
        stops.append(match.start())
        starts.append(match.end())
    spans = (_stripped(text, a, b) for a, b in zip(starts, [*stops, len(text)], strict=True))
    return [span for span in spans if span.start < span.end]


def _stripped(text: str, start: int, end: int, edges: str = " \t\n") -> Span:
    while start < end and text[start] in edges:
        start += 1
    while end > start and text[end - 1] in edges:
        end -= 1
    return Span(start=start, end=end)


def _is_sentence(text: str, span: Span) -> bool:
    part = text[span.start : span.end]
    if len(part.split()) >= MIN_SENTENCE_WORDS:
        return True
    return not part.isascii() and len(part) >= MIN_SENTENCE_CHARS


def _pieces(text: str, sentence: Span) -> list[Span]:
    part = text[sentence.start : sentence.end]
    quoted = [match.span() for match in QUOTED.finditer(part)]
    pieces, begin = [], 0
    for cut in _CUT.finditer(part):
        # Quoted strings stand in order and apart: only the last that begins before may hold it.
        before = bisect_left(quoted, (cut.start(),)) - 1
        if before < 0 or cut.start() >= quoted[before][1]:
            pieces.append((begin, cut.start()))
            begin = cut.end()
    pieces.append((begin, len(part)))
    spans = (_stripped(text, sentence.start + a, sentence.start + b, _EDGES) for a, b in pieces)
    return [span for span in spans if span.start < span.end]


def _glued(text: str, pieces: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for piece in pieces:
        if joined and _is_short(text, piece):
            joined[-1] = Span(start=joined[-1].start, end=piece.end)
        else:
            joined.append(piece)
    if len(joined) > 1 and _is_short(text, joined[0]):
        joined[:2] = [Span(start=joined[0].start, end=joined[1].end)]
    return joined


def _is_short(text: str, span: Span) -> bool:
    part = text[span.start : span.end]
    return part.isascii() and len(part.split()) < MIN_WORDS
