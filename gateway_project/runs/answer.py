"""Render a run for a client: its status, results, errors and pending approvals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from execution.changes import WHOLE_TASK
from execution.planning import order, parse
from execution.status import RunStatus, TaskStatus
from execution.view import ApprovalView, RunView
from gateway_project.foundation.text import strip_invisible
from gateway_project.runs import approval_text
from gateway_project.runs.task_results import collect_results

MAX_ERROR_CHARS: Final = 1_000
MAX_ITEM_ERRORS: Final = 20
"""Items of a task whose errors an answer lists; the rest are counted."""
MAX_NAMED: Final = 5
EXPIRED_NOTE: Final = "its inputs and results are no longer stored"
DELIVERY_NOTE: Final = (
    "the same call_tool returns this outcome once; after that it makes a new call"
)
MAX_APPROVALS: Final = 20
"""Approvals that an answer lists; the rest are counted."""
NO_LINKS: Final[Mapping[str, Mapping[str, Any]]] = {}

ApprovalLinkMaker = Callable[[UUID], str]
"""Returns the URL of an approval's page in the console; empty: there is none."""


def answer_to_json(
    view: RunView,
    make_approval_link: ApprovalLinkMaker,
    *,
    result_links: Mapping[str, Mapping[str, Any]] = NO_LINKS,
    can_ask_user: bool = False,
) -> dict[str, Any]:
    """Return a run as sent to a client.

    Args:
        view: The run, with its results.
        make_approval_link: Links to the pages where approvals are decided.
        result_links: Links in place of results too large to send, by task.
        can_ask_user: Whether the client can ask its user about approvals.
    """
    whole = [task for task in view.tasks if task.item == WHOLE_TASK]
    inline_results = [
        result
        for result in collect_results(view)
        if result.task not in result_links and not view.has_expired
    ]
    answer: dict[str, Any] = {
        "run_id": str(view.id),
        "status": view.status.value,
        "tasks": {task.task: task.status.value for task in whole},
        "results": {result.task: result.value for result in inline_results},
        "errors": collect_errors(view),
        "pending_approvals": [
            _approval_to_json(approval, make_approval_link)
            for approval in view.pending_approvals[:MAX_APPROVALS]
        ],
    }
    optional = {
        "more_approvals": max(0, len(view.pending_approvals) - MAX_APPROVALS),
        "contents": {
            result.task: blocks for result in inline_results if (blocks := result.extra_blocks)
        },
        "links": dict(result_links),
        "converted": list(view.converted),
        "error": {"code": view.error_code, "message": _shorten_message(view.error)}
        if view.error_code
        else None,
        "decision": _decision_to_json(view),
        "replanned": dict(view.replanned),
        "next": EXPIRED_NOTE
        if view.has_expired
        else _describe_next_step(view, is_askable=can_ask_user),
    }
    return answer | {key: value for key, value in optional.items() if value}


def collect_errors(view: RunView) -> dict[str, Any]:
    """Return errors by task; those of items are listed under their task."""
    errors: dict[str, Any] = {}
    for task in view.tasks:
        if not task.error_code:
            continue
        error = {"code": task.error_code, "message": _shorten_message(task.error)}
        if task.item == WHOLE_TASK:
            errors[task.task] = {**errors.get(task.task, {}), **error}
            continue
        row = errors.setdefault(task.task, {**error})
        items = row.setdefault("items", {})
        if len(items) < MAX_ITEM_ERRORS:
            items[str(task.item)] = error
        else:
            row["more_items"] = row.get("more_items", 0) + 1
    return errors


def _approval_to_json(approval: ApprovalView, make_link: ApprovalLinkMaker) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": str(approval.id),
        "task": approval.task,
        "tool": approval.tool,
        "reason": strip_invisible(approval.reason),
        "expires_at": approval.expires_at.isoformat(timespec="seconds"),
        "link": make_link(approval.id),
    }
    if approval.item != WHOLE_TASK:
        row["item"] = approval.item
    return (
        row
        if approval.arguments is None
        else row | {"arguments": approval_text.summarize_arguments(approval.arguments)[0]}
    )


def _shorten_message(text: str) -> str:
    cleaned = strip_invisible(text[: 2 * MAX_ERROR_CHARS])
    return cleaned if len(cleaned) <= MAX_ERROR_CHARS else f"{cleaned[: MAX_ERROR_CHARS - 1]}…"


def _decision_to_json(view: RunView) -> dict[str, Any] | None:
    if view.status is RunStatus.UNKNOWN:
        return {"reason": "unknown", "actions": ["replan", "abort"]}
    if view.status is not RunStatus.PAUSED:
        return None
    layer = _count_done_layers(view)
    if layer is None:
        return {"reason": "paused", "actions": ["resume", "replan", "abort"]}
    done, of = layer
    actions = ["continue", "replan", "abort"]
    return {"reason": "layer_complete", "layer": done, "of": of, "actions": actions}


def _count_done_layers(view: RunView) -> tuple[int, int] | None:
    """Return finished and total layers if the run pauses after each and is between two."""
    if not view.options.get("per_layer_validation") or view.workflow is None:
        return None
    workflow = parse.parse(view.workflow)
    layers = order.group_layers({task.id: task.waits_for for task in workflow.tasks})
    status_by_task = {task.task: task.status for task in view.tasks if task.item == WHOLE_TASK}
    pending = TaskStatus.PENDING

    # A replan between loading the workflow and loading its tasks may have dropped some.
    def status_of(task: str) -> TaskStatus:
        return status_by_task.get(task, pending)

    done = 0
    for layer in layers:
        if not all(status_of(task).is_done for task in layer):
            break
        done += 1
    untouched = (pending, TaskStatus.SKIPPED)  # an earlier failure may have skipped later tasks
    has_begun = any(status_of(task) not in untouched for layer in layers[done:] for task in layer)
    return None if has_begun or not done else (done, len(layers))


def _describe_next_step(view: RunView, *, is_askable: bool) -> str:
    match view.status:
        case RunStatus.QUEUED | RunStatus.RUNNING:
            return "it continues; get_run with wait_s waits for it"
        case RunStatus.WAITING:
            ask_hint = "control_run approve asks your user, or " if is_askable else ""
            return (
                f"a person has to decide on the pending approvals: {ask_hint}give them the link "
                "(`manage.py open_console` explains how to sign in) or have them use "
                "`manage.py approvals`; then get_run"
            )
        case RunStatus.PAUSED:
            return "call control_run with one of the actions"
        case RunStatus.UNKNOWN:
            return (
                f"it is unknown whether {_name_unknown_tasks(view)} took effect: check, then "
                "control_run "
                "replan or abort; only a person may repeat the call, in the console or with "
                "`manage.py control_run`"
            )
        case _ if view.is_direct and view.delivered_at is None:
            return DELIVERY_NOTE
    return ""


def _name_unknown_tasks(view: RunView) -> str:
    names = [
        task.task
        for task in view.tasks
        if task.item == WHOLE_TASK and task.status is TaskStatus.UNKNOWN
    ]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
