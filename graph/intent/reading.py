"""What a person asks for, made ready: cleaned, bounded, cut into sentences and clauses."""

from __future__ import annotations

from dataclasses import dataclass

from graph.intent import clauses as cutting
from graph.intent.masks import mask
from tools import embedding_text
from tools.query_text import MAX_CHARS, QueryError

MIN_MASKED_CHARS = 4
"""With fewer left after masking there is nothing to compare: the text itself stands in."""


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A part of an intent that may speak of one task.

    Attributes:
        text: As it stands in the intent.
        masked: Without literal values; may be empty.
        start: Index of its first character in `Reading.text`.
    """

    text: str
    masked: str
    start: int

    @property
    def masked_view(self) -> str:
        """What is embedded as its masked form: never empty."""
        return masked_view(self.text, self.masked)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """An intent made ready.

    Attributes:
        text: The whole, cleaned and bounded; lines are kept.
        masked: Without literal values, on one line; may be empty. All that may be kept of it.
        sentences: At least one.
        clauses: At least one, in the order of the text; each is a part of `text`.
        is_cut: Whether it was longer than what is read.
    """

    text: str
    masked: str
    sentences: tuple[str, ...]
    clauses: tuple[Clause, ...]
    is_cut: bool

    @property
    def masked_view(self) -> str:
        """What is embedded as its masked form: never empty."""
        return masked_view(self.text, self.masked)

    @property
    def texts(self) -> tuple[str, ...]:
        """The distinct texts to embed."""
        parts = (part for clause in self.clauses for part in (clause.text, clause.masked_view))
        return tuple(dict.fromkeys((self.text, self.masked_view, *self.sentences, *parts)))


def read(raw: str) -> Reading:
    """Make an intent ready. Linear in its length, of which a bounded part is read.

    Raises:
        QueryError: If nothing is left of it without control characters and white space.

    Example:
        >>> [clause.text for clause in read("Find a flight to Rome, then book it for me!").clauses]
        ['Find a flight to Rome', 'book it for me!']
    """
    lines = [
        embedding_text.clean(line, limit=2 * MAX_CHARS)
        for line in raw[: 2 * MAX_CHARS].splitlines()
    ]
    whole = "\n".join(line for line in lines if line)
    if not whole:
        raise QueryError("the intent is empty: say in words what should be done")
    text = whole[:MAX_CHARS].rstrip()
    return Reading(
        text=text,
        masked=mask(text),
        sentences=tuple(text[span.start : span.end] for span in cutting.sentences(text)),
        clauses=tuple(_clause(text, span) for span in cutting.clauses(text)),
        is_cut=len(whole) > MAX_CHARS or len(raw) > 2 * MAX_CHARS,
    )


def masked_view(text: str, masked: str) -> str:
    """Return the masked form of a text, or the text where too little is left."""
    return masked if len(masked) >= MIN_MASKED_CHARS else text


def _clause(text: str, span: cutting.Span) -> Clause:
    part = text[span.start : span.end]
    return Clause(text=part, masked=mask(part), start=span.start)
