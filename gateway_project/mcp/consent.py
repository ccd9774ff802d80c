"""Asks a client's user to approve calls, where the client supports elicitation.

The question goes to the client's program, which shows it to the user; the model never sees it and
cannot answer it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import structlog
from mcp.shared.exceptions import MCPError

from execution.store.approvals import ApprovalNotPending, UnknownApproval
from execution.view import ApprovalView
from gateway_project.effects import OpenConsole
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.mcp import questions
from gateway_project.mcp.interaction import UpstreamTurn
from gateway_project.mcp.questions import ELICIT
from gateway_project.runs import approval_text
from gateway_project.use_cases import decide_approval
from tools.store import teams

APPROVE_FIELD: Final = "approve"
EXACT_DESCRIPTION: Final = "Once, with exactly these arguments."
SHORTENED_DESCRIPTION: Final = (
    "Once, with all of its arguments, those that are not shown here included."
)

log = structlog.get_logger(__name__)


async def ask_user(
    turn: UpstreamTurn,
    caller: Caller,
    pending: Iterable[ApprovalView],
    *,
    open_console: OpenConsole,
) -> bool:
    """Ask the client's user about pending calls, one after another, and record the decisions.

    Args:
        turn: The request that waits for the calls.
        caller: Owner of the calls, who is asked.
        pending: Approvals to decide, with their arguments.
        open_console: Opens the console, which shows a whole call where a question is cut.

    Returns:
        Whether any call is decided; False if the client cannot ask, its user does not answer, or
        their team has somebody else approve their calls.
    """
    if not await may_decide_own(caller):
        return False
    decided = False
    for approval in pending:
        decision = await _ask_about_call(turn, caller, approval, open_console)
        if decision is None:
            return decided
        await record_decision(caller, approval, approve=decision)
        decided = True
    return decided


async def record_decision(caller: Caller, approval: ApprovalView, *, approve: bool) -> None:
    """Record what a client's user decided, unless it is decided elsewhere or has expired."""
    try:
        await run_in_database_thread(
            decide_approval.decide_approval,
            caller,
            approval.id,
            approve=approve,
            via="elicitation",
        )
    except (ApprovalNotPending, UnknownApproval) as error:
        log.info("approval.not_pending", approval=str(approval.id), reason=str(error))


async def may_decide_own(caller: Caller) -> bool:
    """Whether a caller's team lets them approve their own calls."""
    second = teams.requires_second_person
    return not await run_in_database_thread(second, caller.team, caller.user)


def can_ask_user(turn: UpstreamTurn) -> bool:
    """Whether the client of a request can ask its user."""
    try:
        questions.require_askable(turn.downstream.capabilities, ELICIT, {})
    except MCPError:
        return False
    return turn.consult is not None


async def _ask_about_call(
    turn: UpstreamTurn, caller: Caller, approval: ApprovalView, open_console: OpenConsole
) -> bool | None:
    """Return the user's decision; None without one."""
    if turn.consult is None or approval.arguments is None:
        return None
    params = await build_question(caller, approval, open_console)
    try:
        return read_decision(await turn.consult(ELICIT, params))
    except MCPError as refusal:
        log.info("approval.elicitation_refused", approval=str(approval.id), reason=str(refusal))
        return None


async def build_question(
    caller: Caller, approval: ApprovalView, open_console: OpenConsole
) -> dict[str, Any]:
    """Return the parameters of the elicitation that asks for a decision."""
    is_cut = approval_text.summarize_arguments(approval.arguments)[1]
    message = approval_text.write_question(
        approval.tool,
        approval.reason,
        approval.arguments,
        user=caller.user,
        link=(await open_console())(approval.id) if is_cut else "",
    )
    return {"mode": "form", "message": message, "requestedSchema": consent_form(is_cut=is_cut)}


def consent_form(*, is_cut: bool) -> dict[str, Any]:
    """Return the schema of the form that the user fills in.

    It has no default, so a client that merely echoes the form approves nothing.

    Args:
        is_cut: Whether the question omits part of the arguments.
    """
    approve = {
        "type": "boolean",
        "title": "Make this call",
        "description": SHORTENED_DESCRIPTION if is_cut else EXACT_DESCRIPTION,
    }
    return {"type": "object", "properties": {APPROVE_FIELD: approve}, "required": [APPROVE_FIELD]}


def read_decision(answer: Mapping[str, Any]) -> bool | None:
    """Return the decision in an answer; None leaves the call waiting.

    Example:
        >>> (read_decision({"action": "accept", "content": {"approve": True}}),
        ...  read_decision({"action": "decline"}))
        (True, False)
        >>> read_decision({"action": "accept"}) is read_decision({"action": "cancel"}) is None
        True
    """
    if answer.get("action") == "decline":
        return False
    content = answer.get("content")
    if answer.get("action") != "accept" or not isinstance(content, Mapping):
        return None
    approve = content.get(APPROVE_FIELD)
    return approve if isinstance(approve, bool) else None
