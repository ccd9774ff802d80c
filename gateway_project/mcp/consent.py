"""Asks a client's user whether calls may be made, where the client can ask.

The question goes to the client's program, which shows it to its user; a model does not get to see
it, and nothing that a model sends answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import structlog
from mcp.shared.exceptions import MCPError

from execution.store.approvals import NotPending, UnknownApproval
from execution.view import ApprovalView
from gateway_project import approval_text
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import in_database
from gateway_project.mcp import questions
from gateway_project.mcp.interaction import Turn
from gateway_project.mcp.questions import ELICIT
from gateway_project.use_cases import decide_approval

Link = Callable[[UUID], str]
"""Page of an approval in the console; empty: there is none."""
APPROVE: Final = "approve"
EXACTLY: Final = "Once, with exactly these arguments."
SHORTENED: Final = "Once, with all of its arguments, those that are not shown here included."

log = structlog.get_logger(__name__)


async def ask(turn: Turn, caller: Caller, pending: Iterable[ApprovalView], *, link: Link) -> bool:
    """Ask the client's user about calls, one after another, and decide as they say.

    Args:
        turn: The request that they wait for.
        caller: Whose calls they are, who is asked.
        pending: What waits for a decision, with arguments.
        link: Where all of a call is shown.

    Returns:
        Whether any call is decided; False where the client cannot ask, or its user does not say.
    """
    decided = False
    for approval in pending:
        answer = await _answer(turn, caller, approval, link=link)
        if answer is None:
            return decided
        try:
            await in_database(
                decide_approval.decide, caller, approval.id, approve=answer, via="elicitation"
            )
        except (NotPending, UnknownApproval) as error:  # somebody else was quicker, or too late
            log.info("approval.not_pending", approval=str(approval.id), reason=str(error))
        decided = True
    return decided


def is_askable(turn: Turn) -> bool:
    """Whether the client of a request can ask its user."""
    try:
        questions.require(turn.downstream.capabilities, ELICIT, {})
    except MCPError:
        return False
    return turn.consult is not None


async def _answer(
    turn: Turn, caller: Caller, approval: ApprovalView, *, link: Link
) -> bool | None:
    """Return what the user says; None: nothing."""
    if turn.consult is None or approval.arguments is None:
        return None
    message = approval_text.question(
        approval.tool,
        approval.reason,
        approval.arguments,
        user=caller.user,
        link=link(approval.id),
    )
    is_cut = approval_text.short(approval.arguments)[1]
    params = {"mode": "form", "message": message, "requestedSchema": form(is_cut=is_cut)}
    try:
        return said(await turn.consult(ELICIT, params))
    except MCPError as refused:
        log.info("approval.not_asked", approval=str(approval.id), reason=str(refused))
        return None


def form(*, is_cut: bool) -> dict[str, Any]:
    """Return what the user fills in.

    It has no default: a client that only sends back what it was given approves nothing.

    Args:
        is_cut: Whether the question shows less than all of the arguments.
    """
    asked = {
        "type": "boolean",
        "title": "Make this call",
        "description": SHORTENED if is_cut else EXACTLY,
    }
    return {"type": "object", "properties": {APPROVE: asked}, "required": [APPROVE]}


def said(answer: Mapping[str, Any]) -> bool | None:
    """Return what an answer says; None: nothing, and so the call goes on waiting.

    Example:
        >>> said({"action": "accept", "content": {"approve": True}}), said({"action": "decline"})
        (True, False)
        >>> said({"action": "accept"}) is said({"action": "cancel"}) is None
        True
    """
    if answer.get("action") == "decline":
        return False
    content = answer.get("content")
    if answer.get("action") != "accept" or not isinstance(content, Mapping):
        return None
    approve = content.get(APPROVE)
    return approve if isinstance(approve, bool) else None
