"""Read an intent, refuse one that says nothing, and say what may not have been understood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gateway_project.foundation import canonical
from tools.query_text import QueryError

if TYPE_CHECKING:
    from gateway_project.intent_answer import IntentRequest
    from graph.intent.reading import Reading
    from graph.rank_intent import Ranked

MAX_PARAMETER_DEPTH: Final = 100
"""Levels of a parameter of run_intent; reading a value recurses a few times as deep."""
MIN_LETTERS: Final = 2
"""Of the Latin alphabet; a single sign of another script may be a word."""
FOREIGN: Final = 0.5
"""Share of letters beyond the Latin alphabet from which a text is in another script."""
FAMILIAR: Final = 0.25
"""Share of the words that stand in texts of tools below which few do."""
MAX_SURE: Final = 0.5
"""Probability of the likeliest tool from which meaning makes up for words."""


def read(request: IntentRequest) -> Reading:
    """Read an intent; blocking: the first time it imports what suggestions are made by.

    Raises:
        QueryError: If it says nothing.
        graph.binding.parameters.ParameterError: If a parameter is nested too deeply.
    """
    from graph.binding.parameters import ParameterError  # noqa: PLC0415 - heavy
    from graph.intent import reading  # noqa: PLC0415 - heavy
    from graph.suggest import suggest  # noqa: F401, PLC0415 - so that the event loop need not

    if _is_deep(request.parameters):
        raise ParameterError(f"parameters are nested deeper than {MAX_PARAMETER_DEPTH} levels")
    found = reading.read(request.intent)
    letters = [char for char in found.text if char.isalpha()]
    if not letters or (len(letters) < MIN_LETTERS and letters[0].isascii()):
        raise QueryError("the intent holds no words: say in words what should be done")
    return found


def cautions(found: Reading, ranked: Ranked) -> tuple[str, ...]:
    """Say where an intent is hardly understood: another script, or words that no tool has."""
    letters = [char for char in found.text if char.isalpha()]
    foreign = sum(not _is_latin(char) for char in letters) / max(len(letters), 1)
    likely = max(ranked.ranking.tool_probabilities.values(), default=1.0)
    if foreign < FOREIGN and (ranked.familiar >= FAMILIAR or likely >= MAX_SURE):
        return ()
    return (
        "few words of the intent stand in the texts of tools, and most models know English best: "
        "check what is suggested, or say it in the words of the tools",
    )


def _is_latin(char: str) -> bool:
    return ord(char) < 0x250  # where Latin Extended-B ends


def _is_deep(parameters: Mapping[str, Any]) -> bool:
    return canonical.is_deeper(parameters, MAX_PARAMETER_DEPTH)
