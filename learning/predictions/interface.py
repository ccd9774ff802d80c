"""What answers and runs are reported to as predictions, and its null implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol
from uuid import UUID

from execution.prediction_outcome import Outcome, Verdict
from execution.store.speculations import UnknownSpeculation

if TYPE_CHECKING:
    from execution.call import EndedCall
    from execution.predicted_workflow import PredictedTask
    from gateway_project.foundation.caller import Caller
    from learning.predictions.open_intents import PredictedIntent

NO_NAMES: Final[Mapping[int, str]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class Feedback:
    """A verdict of a caller as it was recorded.

    Attributes:
        speculation: Id of the suggestion.
        outcome: How it was resolved.
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


class Predictions(Protocol):
    """Follows suggested workflows to their outcome; for one event loop.

    The `note_` methods return at once and never raise.
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
        tasks: Sequence[PredictedTask],
        intent: str,
        speculation: UUID | None,
    ) -> None:
        """Note that a caller started a run.

        Args:
            caller: Who did.
            run: Its id.
            tasks: Its calls.
            intent: Its purpose in words; empty: not stated.
            speculation: The suggestion that the caller names as its source; None: none.
        """

    async def give_feedback(
        self,
        caller: Caller,
        speculation: UUID,
        verdict: Verdict,
        *,
        stated: Sequence[PredictedTask] | None = None,
        names: Mapping[int, str] = NO_NAMES,
    ) -> Feedback:
        """Resolve a caller's suggestion by what they say of it.

        Args:
            caller: Who judges.
            speculation: Id of the suggestion.
            verdict: What they say of it.
            stated: The calls that would have been right; None: not stated.
            names: Canonical ids of their tools by primary key.

        Raises:
            UnknownSpeculation: If the caller has no such suggestion.
            FeedbackGiven: If another verdict was given before.
            SpeculationResolved: If it was resolved without a verdict.
            RunsUnavailable: If the database is away.
        """


class NoPredictions:
    """Follows nothing, and refuses feedback."""

    def note_intent(self, predicted: PredictedIntent) -> None:
        """See `Predictions`."""

    def note_call(self, ended: EndedCall) -> None:
        """See `Predictions`."""

    def note_run(self, *_: Any, **__: Any) -> None:
        """See `Predictions`."""

    async def give_feedback(
        self,
        caller: Caller,  # noqa: ARG002
        speculation: UUID,
        verdict: Verdict,  # noqa: ARG002
        *,
        stated: Sequence[PredictedTask] | None = None,  # noqa: ARG002
        names: Mapping[int, str] = NO_NAMES,  # noqa: ARG002
    ) -> NoReturn:
        """See `Predictions`."""
        raise UnknownSpeculation(speculation)


NO_PREDICTIONS: Final = NoPredictions()
