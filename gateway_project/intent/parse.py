"""Parse an intent request, reject one without words, and warn about poor understanding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tools.query_text import QueryError

if TYPE_CHECKING:
    from gateway_project.intent.answer import IntentRequest
    from graph.rank_intent import RankedIntent
    from graph.suggestion.intent.reading import IntentReading

MIN_LETTERS: Final = 2
"""Minimum for Latin text; a single character of another script may be a word."""
FOREIGN_SCRIPT_SHARE: Final = 0.5
"""Share of non-Latin letters from which a text counts as another script."""
FAMILIAR_WORD_SHARE: Final = 0.25
"""Minimum share of an intent's words that occur in tool texts, or a caution is added."""
CONFIDENT_PROBABILITY: Final = 0.5
"""Probability of the likeliest tool from which unfamiliar words are no concern."""


def read_request(request: IntentRequest) -> IntentReading:
    """Read an intent; blocking: the first call imports the suggestion modules.

    Raises:
        QueryError: If it contains no words.
    """
    from graph.suggestion.intent.reading import read_intent
    from graph.suggestion.workflow import build  # noqa: F401 - so that the event loop need not

    reading = read_intent(request.intent)
    letters = [char for char in reading.text if char.isalpha()]
    if not letters or (len(letters) < MIN_LETTERS and letters[0].isascii()):
        raise QueryError("the intent contains no words: describe in words what should be done")
    return reading


def list_cautions(reading: IntentReading, ranked: RankedIntent) -> tuple[str, ...]:
    """Warn about an intent in another script, or with few words that tools use."""
    letters = [char for char in reading.english if char.isalpha()]
    foreign_share = sum(not _is_latin(char) for char in letters) / max(len(letters), 1)
    max_probability = max(ranked.ranking.tool_probabilities.values(), default=1.0)
    if foreign_share < FOREIGN_SCRIPT_SHARE and (
        ranked.known_word_share >= FAMILIAR_WORD_SHARE or max_probability >= CONFIDENT_PROBABILITY
    ):
        return ()
    return (
        "few words of the intent occur in tool texts, and most models know English best: check "
        "the suggestion, or use the words of the tools",
    )


def _is_latin(char: str) -> bool:
    return ord(char) < 0x250  # where Latin Extended-B ends
