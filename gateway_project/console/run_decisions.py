"""Template rows for decisions about runs: calls with arguments, and available actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from execution.control import Action
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.runs import approval_text
from gateway_project.use_cases import control_run, decide_approval, lost_calls
from gateway_project.use_cases.lost_calls import LostCall

SHORTENED: Final = "(shortened)"
"""Last line of arguments or a result that are not shown in full."""
MAX_CALL_CHARS: Final = 64 * 1024
"""Characters of one call's arguments that a page of several shows unshortened."""
MAX_PAGE_CHARS: Final = 1024 * 1024
"""The same for all calls of a page; further ones are shortened."""
MAX_SHOWN_PENDING: Final = 20
"""Pending calls shown on the page of their run; the inbox lists all."""
ARGUMENTS_UNAVAILABLE: Final = "They can no longer be assembled: see the workflow, or its server."
ACTION_BUTTONS: Final = (
    (Action.PAUSE, "Pause"),
    (Action.RESUME, "Resume, or continue with the next layer"),
    (Action.ABORT, "Abort"),
)


class DisplayBudget:
    """Remaining characters of arguments that a page shows unshortened."""

    def __init__(self) -> None:
        self._left = MAX_PAGE_CHARS

    def format_arguments(self, arguments: Mapping[str, Any]) -> str:
        """Return arguments in full within the budget, else each shortened by itself."""
        exact = approval_text.format_arguments_within(arguments, min(MAX_CALL_CHARS, self._left))
        if exact is None:
            return f"{approval_text.summarize_arguments(arguments)[0]}\n{SHORTENED}"
        self._left -= len(exact)
        return exact


def decisions_of_run(caller: Caller, run: UUID, *, sealer: Sealer) -> dict[str, Any]:
    """Return the decisions on a run for its page; empty if the caller may not control it."""
    try:
        view = control_run.find_run(caller, run, sealer=sealer)
    except UnknownRun:
        return {}
    budget = DisplayBudget()
    return {
        "pending": list(_iterate_pending_rows(view, sealer, budget)),
        "more_pending": max(0, len(view.pending_approvals) - MAX_SHOWN_PENDING),
        "lost": lost_call_rows(view, sealer=sealer, budget=budget),
    }


def lost_call_rows(
    view: RunView, *, sealer: Sealer, budget: DisplayBudget
) -> list[dict[str, object]]:
    """Return the template rows of a run's calls with unknown outcome."""
    return [
        _lost_call_row(call, budget) for call in lost_calls.load_lost_calls(view, sealer=sealer)
    ]


def _lost_call_row(call: LostCall, budget: DisplayBudget) -> dict[str, object]:
    task = call.task
    return {
        "task": approval_text.single_line(task.task),
        "item": task.item if task.item >= 0 else None,
        "tool": approval_text.single_line(task.tool),
        "started_at": task.started_at,
        "arguments": ARGUMENTS_UNAVAILABLE
        if call.arguments is None
        else budget.format_arguments(call.arguments),
    }


def _iterate_pending_rows(
    view: RunView, sealer: Sealer, budget: DisplayBudget
) -> Iterator[dict[str, object]]:
    for approval in view.pending_approvals[:MAX_SHOWN_PENDING]:
        arguments = decide_approval.load_arguments(
            approval.run, approval.task, approval.item, sealer=sealer
        )
        text = (
            approval_text.ARGUMENTS_GONE
            if arguments is None
            else budget.format_arguments(arguments)
        )
        yield {
            "id": approval.id,
            "is_whole": arguments is not None and not text.endswith(SHORTENED),
            "task": approval_text.single_line(approval.task),
            "item": approval.item if approval.item >= 0 else None,
            "tool": approval_text.single_line(approval.tool),
            "reason": approval_text.single_line(approval.reason),
            "expires_at": approval.expires_at,
            "arguments": text,
        }
