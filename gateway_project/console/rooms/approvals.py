"""The inbox of calls that wait for a person, and the page of each with its exact arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from execution.store.approvals import ApprovalNotPending, UnknownApproval
from execution.view import ApprovalView
from gateway_project.access.roles import APPROVE
from gateway_project.api.problems import InvalidInput
from gateway_project.console.rooms.page import (
    RoomRequest,
    escape_fields,
    load_payload_sealer,
    render_room,
    room,
)
from gateway_project.foundation.sealing import Sealer
from gateway_project.runs import approval_text
from gateway_project.runs.approval_text import single_line
from gateway_project.use_cases import decide_approval
from gateway_project.use_cases.decide_approval import SecondPersonRequired
from tools import hidden_text

MAX_SHOWN_CALLS: Final = 50
"""Calls listed with their arguments; the page of each further one shows them."""
MAX_LISTED_CHARS: Final = 4_096
"""Characters of arguments up to which a call can be decided in the list: it shows all of them."""
MAX_TEXT_CHARS: Final = 64 * 1024
"""Characters of a text up to which it is also shown with its lines."""
ALLOWED: Final = ("approved", "used")
"""Statuses of approvals with whose arguments a new call is compared."""
MAX_VALUE_CHARS: Final = 300
MAX_CHANGES: Final = 50


@room("approvals/", "approvals", APPROVE)
def show_inbox(request: RoomRequest) -> HttpResponse:
    """List the approvals pending for the user and those decided lately."""
    pending = decide_approval.load_pending(request.caller)
    shown = pending[:MAX_SHOWN_CALLS]
    arguments = decide_approval.load_all_arguments(shown, sealer=load_payload_sealer())
    return render_room(
        request,
        "console/approvals/inbox.html",
        title="Approvals",
        pending=[
            *(_describe_pending(view, arguments.get(view.id)) for view in shown),
            *map(_describe_approval, pending[MAX_SHOWN_CALLS:]),
        ],
        recent=[_describe_approval(view) for view in decide_approval.load_recent(request.caller)],
        alike=_list_alike((view, arguments.get(view.id)) for view in shown),
    )


def _list_alike(
    waiting: Iterable[tuple[ApprovalView, Mapping[str, Any] | None]],
) -> list[dict[str, object]]:
    """Return the tools of which several calls are on the page with all their arguments."""
    found: dict[str, list[UUID]] = {}
    for view, arguments in waiting:
        if _describe_pending(view, arguments)["exact"] is not None:
            found.setdefault(view.tool, []).append(view.id)
    return [
        {"tool": approval_text.single_line(tool), "ids": ids}
        for tool, ids in found.items()
        if len(ids) > 1
    ]


@room("approvals/together", "approvals-together", APPROVE, "POST")
def decide_together(request: RoomRequest) -> HttpResponse:
    """Approve or reject several calls that the inbox showed, each by itself."""
    verdict = request.POST.get("verdict", "")
    if verdict not in ("approve", "reject"):
        raise InvalidInput("verdict: approve or reject")
    decided, refused = 0, []
    for text in request.POST.getlist("approval")[:MAX_SHOWN_CALLS]:
        try:
            decide_approval.decide_approval(
                request.caller, _read_id(text), approve=verdict == "approve", via="console"
            )
        except (ApprovalNotPending, SecondPersonRequired, UnknownApproval) as error:
            refused.append(str(error))
        else:
            decided += 1
    done = "Approved" if verdict == "approve" else "Rejected"
    if decided:
        messages.success(request, f"{done}: {decided} call{'s' if decided > 1 else ''}.")
    if refused:
        messages.error(request, f"{len(refused)} not changed: {refused[0]}.")
    return redirect("approvals")


def _read_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput("approval: an id of the inbox") from None


@room("approvals/<uuid:approval>", "approval", APPROVE)
def show_approval(request: RoomRequest, approval: UUID) -> HttpResponse:
    """Show one call with the exact arguments that would be sent, and what is new in them."""
    sealer = load_payload_sealer()
    view = decide_approval.load_approval(request.caller, approval, sealer=sealer)
    earlier = _find_allowed(request, view, sealer) if view.is_pending else None
    return render_room(
        request,
        "console/approvals/approval.html",
        title=f"Approval of {approval_text.single_line(view.tool)}",
        approval=_describe_approval(view),
        arguments=approval_text.format_arguments(view.arguments),
        texts=list_texts(view.arguments or {}),
        changes=[]
        if earlier is None or view.arguments is None
        else compare_arguments(earlier, view.arguments),
        can_be_decided=view.is_pending and view.arguments is not None,
    )


@room("approvals/<uuid:approval>/approve", "approval-approve", APPROVE, "POST")
def approve(request: RoomRequest, approval: UUID) -> HttpResponse:
    """Approve the call."""
    return _decide(request, approval, approve=True)


@room("approvals/<uuid:approval>/reject", "approval-reject", APPROVE, "POST")
def reject(request: RoomRequest, approval: UUID) -> HttpResponse:
    """Reject the call."""
    return _decide(request, approval, approve=False)


def _decide(request: RoomRequest, approval: UUID, *, approve: bool) -> HttpResponse:
    try:
        decided = decide_approval.decide_approval(
            request.caller, approval, approve=approve, via="console"
        )
    except (ApprovalNotPending, SecondPersonRequired) as error:
        messages.error(request, f"Nothing was changed: {error}.")
        return redirect("approval", approval=approval)
    verdict = "Approved" if approve else "Rejected"
    messages.success(request, f"{verdict}: {approval_text.single_line(decided.tool)}.")
    if request.POST.get("back") == "run":
        return redirect("run", run=decided.run)
    return redirect("approvals")


def list_texts(arguments: Mapping[str, Any]) -> list[dict[str, str]]:
    r"""Return the arguments that are texts of several lines, with invisible characters escaped.

    Example:
        >>> list_texts({"path": "a", "content": "one\ntwo"})
        [{'name': 'content', 'text': 'one\ntwo'}]
    """
    return [
        {"name": approval_text.single_line(name), "text": hidden_text.reveal_hidden(value)}
        for name, value in arguments.items()
        if isinstance(value, str) and "\n" in value.strip() and len(value) <= MAX_TEXT_CHARS
    ]


def _find_allowed(
    request: RoomRequest, view: ApprovalView, sealer: Sealer
) -> Mapping[str, Any] | None:
    """Return the arguments of the last call of the same tool that was allowed; None: unknown."""
    for earlier in decide_approval.load_recent(request.caller):
        if earlier.tool == view.tool and earlier.status in ALLOWED:
            return decide_approval.load_arguments(
                earlier.run, earlier.task, earlier.item, sealer=sealer
            )
    return None


def _describe_pending(
    view: ApprovalView, arguments: Mapping[str, Any] | None
) -> dict[str, object]:
    """Return the template row of a pending call, with all its arguments if they are short."""
    exact = (
        None
        if arguments is None
        else approval_text.format_arguments_within(arguments, MAX_LISTED_CHARS)
    )
    preview, _ = approval_text.summarize_arguments(arguments)
    return {**_describe_approval(view), "exact": exact, "begins": preview}


def _describe_approval(view: ApprovalView) -> dict[str, object]:
    """Return the template row of an approval; foreign texts with invisible characters escaped."""
    return {**escape_fields(view), "item": view.item if view.item >= 0 else None}


def compare_arguments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the arguments that differ, in the order of the call.

    Each has its `name`, its `kind` (`new`, `changed` or `gone`) and its values `before` and
    `after` as shortened JSON; empty: there was none.

    Example:
        >>> changes = compare_arguments({"a": 1, "b": 2}, {"a": 1, "c": 3})
        >>> [(one["name"], one["kind"]) for one in changes]
        [('c', 'new'), ('b', 'gone')]
        >>> compare_arguments({"a": 1}, {"a": True})[0]["kind"]
        'changed'
    """
    found = []
    for name in (*after, *(name for name in before if name not in after)):
        was, now = _show(before, name), _show(after, name)
        if was != now:
            kind = "new" if name not in before else "changed" if name in after else "gone"
            values = {"before": _shorten(was), "after": _shorten(now)}
            found.append({"name": single_line(name), "kind": kind, **values})
    return found[:MAX_CHANGES]


def _show(arguments: Mapping[str, Any], name: str) -> str:
    if name not in arguments:
        return ""
    return json.dumps(arguments[name], ensure_ascii=False, sort_keys=True, default=str)


def _shorten(text: str) -> str:
    shown = single_line(text)
    return shown if len(shown) <= MAX_VALUE_CHARS else f"{shown[:MAX_VALUE_CHARS]}…"
