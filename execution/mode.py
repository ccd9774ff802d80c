"""Decide what becomes of a suggested workflow: shown as a draft, suggested, or run ahead."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

SUGGESTION_THRESHOLD: Final = 0.70
"""Confidence from which a workflow is suggested: it is then right in seven cases of ten."""


class Mode(StrEnum):
    """What becomes of a suggested workflow."""

    EXPLICIT_REQUIRED = "explicit_required"
    """It is too unsure: the best draft is shown, and the caller decides explicitly."""
    SUGGESTION = "suggestion"
    """It is suggested; the caller runs it or not."""


def decide(confidence: float, *, is_ranked: bool = True) -> Mode:
    """Decide by how sure a suggestion is.

    Args:
        confidence: Calibrated probability that the tools are the right ones, in [0, 1].
        is_ranked: Whether it was ranked at all; what words alone found is a draft.

    Raises:
        ValueError: If the confidence is no probability.

    Example:
        >>> decide(0.7).value, decide(0.69).value, decide(0.9, is_ranked=False).value
        ('suggestion', 'explicit_required', 'explicit_required')
    """
    if not 0.0 <= confidence <= 1.0:
        raise ValueError(f"confidence must be in [0, 1], not {confidence}")
    if is_ranked and confidence >= SUGGESTION_THRESHOLD:
        return Mode.SUGGESTION
    return Mode.EXPLICIT_REQUIRED
