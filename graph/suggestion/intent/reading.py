"""Prepare an intent: clean it, bound its length, cut it into sentences and clauses."""

from __future__ import annotations

from dataclasses import dataclass

from graph.suggestion.intent import clauses as cutting
from graph.suggestion.intent.masks import mask_values, non_empty_masked_text
from graph.suggestion.intent.requests import StatedRequest, find_prohibitions, split_requests
from tools import embedding_text
from tools.glossary import Language
from tools.query_text import MAX_CHARS, QueryError
from tools.translate import detect_language, put_in_english


@dataclass(frozen=True, kw_only=True)
class IntentClause:
    """A part of an intent that may ask for one task.

    Attributes:
        text: Verbatim from the intent.
        english: The text, or its gloss: what is embedded and looked up.
        masked: That without literal values; may be empty.
        start: Index of its first character in `IntentReading.text`.
    """

    text: str
    english: str
    masked: str
    start: int

    @property
    def embedded_masked_text(self) -> str:
        """The text to embed as the masked form; never empty."""
        return non_empty_masked_text(self.english, self.masked)


@dataclass(frozen=True, kw_only=True)
class IntentReading:
    """A prepared intent.

    Attributes:
        text: The whole intent, cleaned and bounded; line breaks are preserved.
        english: The text, or its gloss if the intent is in another language.
        masked: That without literal values, on one line; may be empty. The only form that may be
            stored.
        sentences: In English, at least one.
        clauses: At least one, in the order of the text; each is a part of `text`.
        requests: The parts that each ask for something to be done, at least one, likewise.
        prohibitions: The parts that say what not to do.
        is_cut: Whether the intent was too long and truncated.
    """

    text: str
    english: str
    masked: str
    sentences: tuple[str, ...]
    clauses: tuple[IntentClause, ...]
    requests: tuple[StatedRequest, ...]
    prohibitions: tuple[str, ...]
    is_cut: bool

    @property
    def embedded_masked_text(self) -> str:
        """The text to embed as the masked form; never empty."""
        return non_empty_masked_text(self.english, self.masked)

    def find_clause_at(self, place: int) -> int:
        """Return the index of the last clause that begins at or before a place in the text."""
        found = (at for at, clause in enumerate(self.clauses) if clause.start <= place)
        return max(found, default=0)

    @property
    def distinct_texts(self) -> tuple[str, ...]:
        """The distinct texts to embed."""
        of_clauses = ((one.english, one.embedded_masked_text) for one in self.clauses)
        of_requests = ((one.wording, one.embedded_masked_text) for one in self.requests)
        parts = (text for pair in (*of_clauses, *of_requests) for text in pair)
        return tuple(
            dict.fromkeys((self.english, self.embedded_masked_text, *self.sentences, *parts))
        )


def read_intent(raw: str) -> IntentReading:
    """Prepare an intent, in linear time; text beyond a bound is ignored.

    Raises:
        QueryError: If it is empty without control characters and white space.

    Example:
        >>> reading = read_intent("Find a flight to Rome, then book it for me!")
        >>> [clause.text for clause in reading.clauses]
        ['Find a flight to Rome', 'book it for me!']
    """
    lines = [
        embedding_text.clean_text(line, limit=2 * MAX_CHARS)
        for line in raw[: 2 * MAX_CHARS].splitlines()
    ]
    whole = "\n".join(line for line in lines if line)
    if not whole:
        raise QueryError("the intent is empty: describe in words what should be done")
    text = whole[:MAX_CHARS].rstrip()
    language = detect_language(text)
    english = put_in_english(text, language)
    return IntentReading(
        text=text,
        english=english,
        masked=mask_values(english),
        sentences=tuple(
            put_in_english(text[span.start : span.end], language)
            for span in cutting.split_sentences(text)
        ),
        requests=split_requests(text, language),
        prohibitions=find_prohibitions(text, language),
        clauses=tuple(
            _make_clause(text, span, language) for span in cutting.split_clauses(text, language)
        ),
        is_cut=len(whole) > MAX_CHARS or len(raw) > 2 * MAX_CHARS,
    )


def _make_clause(text: str, span: cutting.TextSpan, language: Language | None) -> IntentClause:
    part = text[span.start : span.end]
    english = put_in_english(part, language)
    return IntentClause(text=part, english=english, masked=mask_values(english), start=span.start)
