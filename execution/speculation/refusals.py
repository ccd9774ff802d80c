"""Why a call is not made ahead now, or its answer not kept, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from execution.speculation.rules import AdmissibilityReason, ReasonCode, make_reason

if TYPE_CHECKING:
    from tools.catalogue import CatalogueTool


def explain_outdated(tool: str) -> AdmissibilityReason:
    """A change came in between."""
    return make_reason(
        ReasonCode.UNSETTLED, f"What {tool} reads may have changed while it was called."
    )


def explain_slow(tool: str) -> AdmissibilityReason:
    """An answer does not wait for it."""
    return make_reason(
        ReasonCode.TOO_SLOW,
        f"{tool} takes longer than an answer waits; it was called, and the same call gets its "
        "result.",
    )


def explain_no_place(server: str) -> AdmissibilityReason:
    """Requests need all places."""
    return make_reason(ReasonCode.NO_IDLE_PLACE, f"Server {server} has no idle place for it now.")


def explain_in_flight(tool: str) -> AdmissibilityReason:
    """A client makes the same call."""
    return make_reason(ReasonCode.UNSETTLED, f"A client makes this call of {tool} right now.")


def explain_arguments(tool: CatalogueTool) -> AdmissibilityReason:
    """No request could be compared with it."""
    return make_reason(
        ReasonCode.INVALID_ARGUMENTS, f"The arguments of {tool.tool} are too large to compare."
    )


def explain_disagreement(tool: CatalogueTool) -> AdmissibilityReason:
    """No result of it will be served."""
    return make_reason(
        ReasonCode.NOT_WORTH_IT,
        f"A result of {tool.tool} made ahead was not that of the call made again; an admin can "
        "restart the comparison.",
    )


def explain_unusable(tool: CatalogueTool) -> AdmissibilityReason:
    """Its answer is not kept."""
    return make_reason(
        ReasonCode.UNUSABLE_RESULT,
        f"{tool.tool} reported an error, asked for input, or answered too much.",
    )
