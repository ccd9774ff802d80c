"""What is shown of runs where a person decides: calls with arguments, and what to tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from execution import control
from execution.control import Action, NotPossible
from execution.store.runs import UnknownRun
from execution.view import RunView
from gateway_project import approval_text
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.use_cases import control_run, decide_approval, lost_calls
from gateway_project.use_cases.lost_calls import LostCall

MAX_EXACT: Final = 64 * 1024
"""Characters of one call's arguments that a page of several shows as they are."""
MAX_PAGE: Final = 1024 * 1024
"""The same of all calls of a page; what comes after them is shortened."""
MAX_PENDING: Final = 20
"""Calls that wait for approval and are shown on the page of their run; the inbox lists all."""
UNKNOWN: Final = "They cannot be put together any more: see the workflow, or its server."
BUTTONS: Final = (
    (Action.PAUSE, "Pause"),
    (Action.RESUME, "Resume, or continue with the next layer"),
    (Action.ABORT, "Abort"),
)
AGAIN: Final = ("rerun_unknown", "Make these calls again …")


class Room:
    """How much of the arguments of calls a page still shows as they are."""

    def __init__(self) -> None:
        self._left = MAX_PAGE

    def shown(self, arguments: Mapping[str, Any]) -> str:
        """Return arguments as they are, or, where there is much of them, each cut by itself."""
        exact = approval_text.exact_within(arguments, min(MAX_EXACT, self._left))
        if exact is None:
            return f"{approval_text.short(arguments)[0]}\n(shortened)"
        self._left -= len(exact)
        return exact


def of_run(caller: Caller, run: UUID, *, sealer: Sealer) -> dict[str, Any]:
    """Return what the page of a run shows of it; nothing to whom may not tell it anything."""
    try:
        view = control_run.find(caller, run, sealer=sealer)
    except UnknownRun:
        return {}
    room = Room()
    lost = shown_lost(view, sealer=sealer, room=room)
    return {
        "status": view.status.value,
        "pending": list(_pending(view, sealer, room)),
        "more_pending": max(0, len(view.pending) - MAX_PENDING),
        "lost": lost,
        "buttons": [*_buttons(view), *([AGAIN] if lost else [])],
    }


def shown_lost(view: RunView, *, sealer: Sealer, room: Room) -> list[dict[str, object]]:
    """Return what is shown of the calls of a run of which nobody knows how they ended."""
    return [_lost(call, room) for call in lost_calls.lost_calls(view, sealer=sealer)]


def _lost(call: LostCall, room: Room) -> dict[str, object]:
    task = call.task
    return {
        "task": approval_text.line(task.task),
        "item": task.item if task.item >= 0 else None,
        "tool": approval_text.line(task.tool),
        "started_at": task.started_at,
        "arguments": UNKNOWN if call.arguments is None else room.shown(call.arguments),
    }


def _pending(view: RunView, sealer: Sealer, room: Room) -> Iterator[dict[str, object]]:
    for asked in view.pending[:MAX_PENDING]:
        arguments = decide_approval.arguments(asked.run, asked.task, asked.item, sealer=sealer)
        yield {
            "id": asked.id,
            "task": approval_text.line(asked.task),
            "item": asked.item if asked.item >= 0 else None,
            "tool": approval_text.line(asked.tool),
            "reason": approval_text.line(asked.reason),
            "expires_at": asked.expires_at,
            "arguments": approval_text.UNKNOWN if arguments is None else room.shown(arguments),
        }


def _buttons(view: RunView) -> Iterator[tuple[str, str]]:
    """Yield what the run can be told as it stands, with the words of the button."""
    for action, words in BUTTONS:
        try:
            is_needed = control.is_needed(action, view.status)
        except NotPossible:
            continue
        if is_needed:
            yield action.value, words
