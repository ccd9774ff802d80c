"""Decide how a suggested workflow is presented: as a draft, a suggestion, or with its results."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

SUGGESTION_THRESHOLD: Final = 0.70
"""Minimum confidence of a suggestion: the workflow is then right in seven cases of ten."""


class SuggestionMode(StrEnum):
    """How a suggested workflow is presented."""

    EXPLICIT_REQUIRED = "explicit_required"
    """Confidence is too low: the best draft is shown, and the caller decides explicitly."""
    SUGGESTION = "suggestion"
    """It is suggested; the caller decides whether to run it."""
    SPECULATIVE_EXECUTION = "speculative_execution"
    """It was run ahead, and its results come with it."""


def choose_mode(confidence: float, *, is_ranked: bool = True) -> SuggestionMode:
    """Choose the mode of a suggestion that was not run ahead, from its confidence.

    Args:
        confidence: Calibrated probability that the tools are the right ones, in [0, 1].
        is_ranked: False: found by text search alone, and hence always a draft.

    Raises:
        ValueError: If the confidence is not a probability.

    Example:
        >>> (choose_mode(0.7).value, choose_mode(0.69).value,
        ...  choose_mode(0.9, is_ranked=False).value)
        ('suggestion', 'explicit_required', 'explicit_required')
    """
    if not 0.0 <= confidence <= 1.0:
        raise ValueError(f"confidence must be in [0, 1], not {confidence}")
    if is_ranked and confidence >= SUGGESTION_THRESHOLD:
        return SuggestionMode.SUGGESTION
    return SuggestionMode.EXPLICIT_REQUIRED
