"""What became of running a suggestion ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from execution.early_run import EarlyRun
from execution.speculation_rules import AdmissibilityReason

MAX_REASONS: Final = 5
"""Reasons that an answer names."""


@dataclass(frozen=True, kw_only=True)
class AheadOutcome:
    """What became of running a suggestion ahead.

    Attributes:
        run: The run with its results; None: it was not run ahead, or not to its end.
        partial: The results of the tasks that succeeded, if not all did; None: there are none.
        reasons: Why not; empty if it was, and if it was not sure enough to be considered.
    """

    run: EarlyRun | None = None
    partial: EarlyRun | None = None
    reasons: tuple[AdmissibilityReason, ...] = ()

    @property
    def results(self) -> EarlyRun | None:
        """All results, or those of the tasks that succeeded; None: there are none."""
        return self.run or self.partial

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
