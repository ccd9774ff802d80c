"""Call ahead what a session is likely to call next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from execution.admissibility import ProposedCall
from execution.argument_provenance import read_sources
from execution.speculation.interface import EarlyCall, SpeculationForm
from execution.speculation_rules import AdmissibilityReason, ReasonCode, make_reason

if TYPE_CHECKING:
    from uuid import UUID

    from execution.speculation.interface import Speculation
    from gateway_project.foundation.caller import Caller
    from graph.suggestion.next_call.call import PredictedCall
    from tools.catalogue import Catalogue, CatalogueTool
    from tools.upstream.downstream import Downstream

_MS_PER_S: Final = 1_000


def dispatch_next_call(  # noqa: PLR0913 - the call, whom it is for, and what makes it
    speculation: Speculation,
    predicted: PredictedCall,
    *,
    prediction: UUID,
    tool: CatalogueTool,
    caller: Caller,
    downstream: Downstream,
    catalogue: Catalogue,
) -> tuple[AdmissibilityReason, ...]:
    """Start a predicted call in the background, if it may be made ahead now.

    Args:
        speculation: Makes calls ahead.
        predicted: The call.
        prediction: Id of the prediction.
        tool: Its tool, as the caller sees it.
        caller: Whose session it was predicted for.
        downstream: By which servers know the caller.
        catalogue: Servers and tools.

    Returns:
        The reasons against it; empty: it was started, or is known or in flight already.
    """
    server = catalogue.servers.get(tool.server)
    if server is None or (server.is_private and not downstream.session):
        return (
            make_reason(
                ReasonCode.UNAVAILABLE,
                f"Server {tool.server} keeps the state of each caller, and this one has not "
                "called through a connection of its own yet.",
            ),
        )
    return speculation.dispatch(
        caller, make_early_call(predicted, prediction=prediction, tool=tool), downstream=downstream
    )


def make_early_call(
    predicted: PredictedCall, *, prediction: UUID, tool: CatalogueTool
) -> EarlyCall:
    """Return a predicted call as it is made ahead, with the origin of each argument."""
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
