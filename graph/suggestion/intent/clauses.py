"""Cut a text into sentences and clauses, by punctuation and connectives alone.

There is no verb list and no grammar: ranking reads the whole text beside the parts and takes the
best of several parts, so a bad cut does little harm.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache

from graph.suggestion.intent.masks import QUOTED
from tools.glossary import Language, load_glossary

MAX_CLAUSES = 12
MAX_SENTENCES = 12
MIN_WORDS = 3
"""A shorter piece is joined to its neighbour; scripts without spaces are never joined."""

MIN_SENTENCE_WORDS = 2
MIN_SENTENCE_CHARS = 6  # for scripts that put no spaces between words

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")  # noqa: RUF001 - CJK marks
_CLAUSE_BOUNDARY = re.compile(
    r"[,:]\s+(?:(?:and|then|but|also|so|or|plus)\s+)*"
    r"|(?<=\s)(?:and\s+then|and\s+also|and|then|also|but|as\s+well\s+as|followed\s+by"
    r"|after\s+that|afterwards?|before|after|while|finally|plus)\s+"
    r"|[，、：]|(?<=\s)[-–—]\s+|然后|并且|以及",  # noqa: RUF001 - CJK marks and dashes
    re.IGNORECASE,
)
_FOREIGN_CONNECTIVES: dict[Language, str] = {
    # Of any other language, what its glossary calls "and" or "then".
    # Behind a pronoun an adverb belongs to its clause: "zeig mir danach alle Notizen".
    "de": r"(?<=\s)(?:und|(?<!\b(?:mir|uns|sie|ihn)\s)(?<!\bes\s)"
    r"(?:dann|danach|anschließend|außerdem|zuletzt))\s+"
    r"(?:(?:dann|danach|anschließend|auch)\s+)*",
    "es": r"(?<=\s)(?:y|e|luego|después|entonces|además|finalmente)\s+"
    r"(?:(?:luego|después|entonces|también)\s+)*",
    "fr": r"(?<=\s)(?:et|mais|puis|après\s+(?:ça|cela)"
    r"|(?<!-moi\s)(?<!-nous\s)(?<!-les\s)(?<!-le\s)(?<!-la\s)(?:ensuite|enfin))\s+"
    r"(?:(?:puis|ensuite|après|aussi|enfin|également)\s+)*",
    "zh": "[，。\\s]*(?:然后|接着|随后|(?<=[，\\s])再)再?",  # noqa: RUF001 - CJK marks
}
_JOINING = frozenset({"and", "then"})
_TRIMMED_CHARACTERS = " \t\n,.;:"


@dataclass(frozen=True, kw_only=True)
class TextSpan:
    """A part of a text.

    Attributes:
        start: Index of its first character.
        end: Index after its last character.
    """

    start: int
    end: int


def split_sentences(text: str) -> list[TextSpan]:
    """Find the sentences, ignoring one-word fragments; falls back to the whole text.

    Example:
        >>> text = "Hi. Open it! Now close it."
        >>> [text[span.start:span.end] for span in split_sentences(text)]
        ['Open it!', 'Now close it.']
    """
    sentences = [span for span in _split_spans(text, _SENTENCE_END) if _is_sentence(text, span)]
    return (sentences or [TextSpan(start=0, end=len(text))])[:MAX_SENTENCES]


def split_clauses(text: str, language: Language | None = None) -> list[TextSpan]:
    """Find the clauses in the order of the text, at most `MAX_CLAUSES`.

    A sentence is cut at commas, colons, dashes and connectives, never inside quotation marks;
    a piece of fewer than `MIN_WORDS` words is joined to its neighbour.

    Example:
        >>> text = "Find a hotel in Rome and Milan, then email it to me"
        >>> [text[c.start:c.end] for c in split_clauses(text)]
        ['Find a hotel in Rome and Milan', 'email it to me']
    """
    clauses: list[TextSpan] = []
    for sentence in split_sentences(text):
        clauses += _join_short_pieces(text, split_pieces(text, sentence, language))
    return (clauses or [TextSpan(start=0, end=len(text))])[:MAX_CLAUSES]


def _split_spans(text: str, boundary: re.Pattern[str]) -> list[TextSpan]:
    starts, stops = [0], []
    for match in boundary.finditer(text):
        stops.append(match.start())
        starts.append(match.end())
    spans = (
        _strip_span(text, start, end)
        for start, end in zip(starts, [*stops, len(text)], strict=True)
    )
    return [span for span in spans if span.start < span.end]


def _strip_span(text: str, start: int, end: int, edges: str = " \t\n") -> TextSpan:
    while start < end and text[start] in edges:
        start += 1
    while end > start and text[end - 1] in edges:
        end -= 1
    return TextSpan(start=start, end=end)


def _is_sentence(text: str, span: TextSpan) -> bool:
    part = text[span.start : span.end]
    if len(part.split()) >= MIN_SENTENCE_WORDS:
        return True
    return not part.isascii() and len(part) >= MIN_SENTENCE_CHARS


@cache
def _find_boundary(language: Language | None) -> re.Pattern[str]:
    if language is None:
        return _CLAUSE_BOUNDARY
    connectives = _FOREIGN_CONNECTIVES.get(language)
    if connectives is None:
        words = load_glossary(language).exact.items()
        joining = [re.escape(word) for word, one in words if one.english in _JOINING]
        connectives = rf"(?<=\s)(?:{'|'.join(joining) or '(?!)'})\s+"
    return re.compile(f"{connectives}|{_CLAUSE_BOUNDARY.pattern}", re.IGNORECASE)


def split_pieces(
    text: str, sentence: TextSpan, language: Language | None = None
) -> list[TextSpan]:
    """Cut a sentence at commas, colons, dashes and connectives, never inside quotation marks.

    Connectives are English ones, and those of its language if it is another.
    """
    part = text[sentence.start : sentence.end]
    quoted = [match.span() for match in QUOTED.finditer(part)]
    pieces, begin = [], 0
    for cut in _find_boundary(language).finditer(part):
        # Quoted strings are ordered and disjoint: only the last one before can contain the cut.
        before = bisect_left(quoted, (cut.start(),)) - 1
        if before < 0 or cut.start() >= quoted[before][1]:
            pieces.append((begin, cut.start()))
            begin = cut.end()
    pieces.append((begin, len(part)))
    spans = (
        _strip_span(text, sentence.start + start, sentence.start + end, _TRIMMED_CHARACTERS)
        for start, end in pieces
    )
    return [span for span in spans if span.start < span.end]


def _join_short_pieces(text: str, pieces: list[TextSpan]) -> list[TextSpan]:
    joined: list[TextSpan] = []
    for piece in pieces:
        if joined and _is_short_clause(text, piece):
            joined[-1] = TextSpan(start=joined[-1].start, end=piece.end)
        else:
            joined.append(piece)
    if len(joined) > 1 and _is_short_clause(text, joined[0]):
        joined[:2] = [TextSpan(start=joined[0].start, end=joined[1].end)]
    return joined


def _is_short_clause(text: str, span: TextSpan) -> bool:
    part = text[span.start : span.end]
    return part.isascii() and len(part.split()) < MIN_WORDS
