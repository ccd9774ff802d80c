"""What became of running a suggestion ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from execution.early_run import EarlyRun
from execution.speculation_rules import AdmissibilityReason, ReasonCode, make_reason
from gateway_project.foundation.rounding import round_apart

MAX_REASONS: Final = 5
"""Reasons that an answer names."""


@dataclass(frozen=True, kw_only=True)
class AheadOutcome:
    """What became of running a suggestion ahead.

    Attributes:
        run: The run with its results; None: it was not run ahead, or not to its end.
        attempt: What was called of it without success of the whole; None: nothing was.
        reasons: Why not; empty if it was.
    """

    run: EarlyRun | None = None
    attempt: EarlyRun | None = None
    reasons: tuple[AdmissibilityReason, ...] = ()

    @property
    def results(self) -> EarlyRun | None:
        """All results, or those of the tasks that succeeded; None: there are none."""
        is_kept = self.attempt is not None and bool(self.attempt.raw_results)
        return self.run or (self.attempt if is_kept else None)

    @property
    def fallback_code(self) -> str:
        """Code of the first reason; empty: there is none."""
        return self.reasons[0].code.value if self.reasons else ""

    @property
    def fallback_reason(self) -> str:
        """The reasons in words, each once; empty: there is none."""
        messages = list(dict.fromkeys(reason.message for reason in self.reasons))
        more = len(messages) - MAX_REASONS
        return " ".join([*messages[:MAX_REASONS], *([f"And {more} more."] if more > 0 else [])])


NOT_CONSIDERED: Final = AheadOutcome()


def explain_not_considered(
    confidence: float | None, threshold: float | None, *, is_empty: bool = False
) -> AheadOutcome:
    """Return why a suggestion was not considered for running ahead.

    Args:
        confidence: Of the suggestion, in [0, 1]; None: nothing was ranked.
        threshold: Confidence from which it would be run ahead, in [0, 1]; None: suspended.
        is_empty: Whether it has no tasks.
    """
    if is_empty:
        code = ReasonCode.EMPTY_WORKFLOW
        message = "No tool fits the intent well enough, so there is nothing to run ahead."
    elif confidence is None:
        code = ReasonCode.BELOW_THRESHOLD
        message = "Nothing was ranked, and a draft is never run ahead."
    elif threshold is None:
        code = ReasonCode.SUSPENDED
        message = "Too many suggestions for this kind of work were wrong; nothing is run ahead."
    elif confidence < threshold:
        code = ReasonCode.BELOW_THRESHOLD
        told, least = round_apart(confidence, threshold, digits=2)
        message = (
            f"Its confidence of {told:g} is below the threshold for running it ahead, {least:g}."
        )
    else:
        code, message = ReasonCode.NOT_REQUESTED, "Only a suggestion was asked for."
    return AheadOutcome(reasons=(make_reason(code, message),))
