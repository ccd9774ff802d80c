"""Turn predicted next calls into calls that may be made ahead of their request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from execution.admissibility import ProposedCall
from execution.argument_provenance import read_sources
from execution.call_outcome import SpeculationForm
from execution.early_calls import EarlyCall

if TYPE_CHECKING:
    from uuid import UUID

    from graph.suggestion.next_call.call import PredictedCall
    from tools.catalogue import CatalogueTool

_MS_PER_S: Final = 1_000


def make_early_call(
    predicted: PredictedCall, *, prediction: UUID, tool: CatalogueTool
) -> EarlyCall:
    """Return a predicted call as it may be made ahead, with the origin of each argument.

    Args:
        predicted: The call.
        prediction: Id of the prediction.
        tool: Its tool.
    """
    p95_ms = predicted.p95_ms
    return EarlyCall(
        prediction=prediction,
        form=SpeculationForm.NEXT_CALL,
        call=ProposedCall(
            tool=tool.tool,
            arguments=predicted.arguments,
            provenance=read_sources(predicted.sources),
            expected_s=None if p95_ms is None else p95_ms / _MS_PER_S,
        ),
        chance=predicted.chance,
        next_chance=predicted.next_chance,
        saves_ms=predicted.saves_ms,
    )
