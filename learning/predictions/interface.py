"""What answers and runs are reported to as predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from execution.speculation.outcome import Outcome, Verdict
from execution.store.speculations import UnknownSpeculation

if TYPE_CHECKING:
    from execution.call import EndedCall
    from execution.workflow import WorkflowTask
    from gateway_project.foundation.caller import Caller
    from learning.predictions.open_intents import PredictedIntent


@dataclass(frozen=True, kw_only=True, slots=True)
class Feedback:
    """A verdict of a caller as it was recorded.

    Attributes:
        speculation: Id of the suggestion.
        is_new: Whether this request recorded it; else the same verdict had been given before.
    """

    speculation: UUID
    outcome: Outcome
    is_new: bool

    def as_json(self) -> dict[str, Any]:
        """Return it as sent to clients."""
        return {
            "speculation_id": self.speculation.hex,
            "outcome": self.outcome.value,
            "recorded": self.is_new,
        }


class Predictions:
    """Follows suggested workflows to their outcome; for one event loop.

    The `note_` methods return at once and never raise. This one follows nothing and refuses
    feedback; `PredictionRecorder` does.
    """

    def note_intent(self, predicted: PredictedIntent) -> None:
        """Note a suggestion as a prediction of what its caller will run."""

    def note_call(self, ended: EndedCall) -> None:
        """Note a direct call that ended."""

    def note_run(
        self,
        caller: Caller,
        run: UUID,
        *,
        tasks: Sequence[WorkflowTask],
        intent: str,
        speculation: UUID | None,
    ) -> None:
        """Note that a caller started a run."""

    async def give_feedback(
        self,
        caller: Caller,  # noqa: ARG002
        speculation: UUID,
        verdict: Verdict,  # noqa: ARG002
        *,
        stated: Sequence[WorkflowTask] | None = None,  # noqa: ARG002
    ) -> Feedback:
        """Resolve a caller's suggestion by what they say of it.

        Args:
            caller: Who judges.
            speculation: Id of the suggestion.
            verdict: What they say of it.
            stated: The calls that would have been right; None: not stated.

        Raises:
            UnknownSpeculation: If the caller has no such suggestion.
            FeedbackGiven: If another verdict was given before.
            SpeculationResolved: If it was resolved without a verdict.
            RunsUnavailable: If the database is away.
        """
        raise UnknownSpeculation(speculation)


NO_PREDICTIONS: Final = Predictions()
