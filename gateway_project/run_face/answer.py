"""A run as it is told to a client: how it stands, what its tasks gave, what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from execution.changes import WHOLE_TASK
from execution.planning import order, parse
from execution.planning.replan import Merged
from execution.status import RunStatus, TaskStatus
from execution.view import ApprovalView, RunView
from gateway_project import approval_text
from gateway_project.run_face.given import given
from gateway_project.tool_card import clean

MAX_ERROR: Final = 1_000
MAX_ITEM_ERRORS: Final = 20
"""Items of a task whose errors an answer names; of the rest it says how many there are."""
MAX_NAMED: Final = 5
GONE: Final = "what it was given and what it gave is kept no longer"
ONCE_MORE: Final = "the same call_tool gives this outcome once; after that it is a new call"
MAX_APPROVALS: Final = 20
"""Approvals that an answer names; of the rest it says how many there are."""

Link = Callable[[UUID], str]
"""Page of the console where an approval is decided; empty: there is none."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What stands beside a run in an answer.

    Attributes:
        link: Where approvals are decided.
        links: In place of results too large to send, by task.
        merged: What was replanned; None: nothing was.
        is_askable: Whether the client can ask its user about approvals.
    """

    link: Link
    links: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    merged: Merged | None = None
    is_askable: bool = False


def as_json(view: RunView, told: Told) -> dict[str, Any]:
    """Return what is sent of a run."""
    whole = [task for task in view.tasks if task.item == WHOLE_TASK]
    shown = [one for one in given(view) if one.task not in told.links and not view.has_expired]
    answer: dict[str, Any] = {
        "run_id": str(view.id),
        "status": view.status.value,
        "tasks": {task.task: task.status.value for task in whole},
        "results": {one.task: one.value for one in shown},
        "errors": errors(view),
        "pending_approvals": [_approval(one, told.link) for one in view.pending[:MAX_APPROVALS]],
    }
    optional = {
        "more_approvals": max(0, len(view.pending) - MAX_APPROVALS),
        "contents": {one.task: blocks for one in shown if (blocks := one.contents)},
        "links": dict(told.links),
        "error": {"code": view.error_code, "message": _message(view.error)}
        if view.error_code
        else None,
        "decision": _decision(view),
        "replanned": _difference(told.merged),
        "next": GONE if view.has_expired else _next(view, is_askable=told.is_askable),
    }
    return answer | {key: value for key, value in optional.items() if value}


def errors(view: RunView) -> dict[str, Any]:
    """Return what went wrong, by task; items stand with their task."""
    found: dict[str, Any] = {}
    for task in view.tasks:
        if not task.error_code:
            continue
        error = {"code": task.error_code, "message": _message(task.error)}
        if task.item == WHOLE_TASK:
            found[task.task] = {**found.get(task.task, {}), **error}
            continue
        row = found.setdefault(task.task, {**error})
        items = row.setdefault("items", {})
        if len(items) < MAX_ITEM_ERRORS:
            items[str(task.item)] = error
        else:
            row["more_items"] = row.get("more_items", 0) + 1
    return found


def _approval(one: ApprovalView, link: Link) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": str(one.id),
        "task": one.task,
        "tool": one.tool,
        "reason": clean(one.reason),
        "expires_at": one.expires_at.isoformat(timespec="seconds"),
        "link": link(one.id),
    }
    if one.item != WHOLE_TASK:
        row["item"] = one.item
    return (
        row
        if one.arguments is None
        else row | {"arguments": approval_text.short(one.arguments)[0]}
    )


def _message(text: str) -> str:
    cleaned = clean(text[: 2 * MAX_ERROR])
    return cleaned if len(cleaned) <= MAX_ERROR else f"{cleaned[: MAX_ERROR - 1]}…"


def _difference(merged: Merged | None) -> dict[str, Any] | None:
    if merged is None:
        return None
    return {
        "kept": list(merged.kept),
        "changed": list(merged.changed),
        "added": list(merged.added),
        "removed": list(merged.removed),
    }


def _decision(view: RunView) -> dict[str, Any] | None:
    if view.status is RunStatus.UNKNOWN:
        return {"reason": "unknown", "actions": ["replan", "abort"]}
    if view.status is not RunStatus.PAUSED:
        return None
    layer = _layers_done(view)
    if layer is None:
        return {"reason": "paused", "actions": ["resume", "replan", "abort"]}
    done, of = layer
    actions = ["continue", "replan", "abort"]
    return {"reason": "layer_complete", "layer": done, "of": of, "actions": actions}


def _layers_done(view: RunView) -> tuple[int, int] | None:
    """Return how many layers of how many are done, if it stops after each and is between two."""
    if not view.options.get("per_layer_validation") or view.workflow is None:
        return None
    workflow = parse.parse(view.workflow)
    layers = order.layers({task.id: task.waits_for for task in workflow.tasks})
    standing = {task.task: task.status for task in view.tasks if task.item == WHOLE_TASK}
    pending = TaskStatus.PENDING

    # A plan that came between the reading of the workflow and of its tasks may have dropped some.
    def status_of(task: str) -> TaskStatus:
        return standing.get(task, pending)

    done = 0
    for layer in layers:
        if not all(status_of(task).is_done for task in layer):
            break
        done += 1
    begun = [status_of(task) is not pending for layer in layers[done:] for task in layer]
    return None if any(begun) or not done else (done, len(layers))


def _next(view: RunView, *, is_askable: bool) -> str:
    match view.status:
        case RunStatus.QUEUED | RunStatus.RUNNING:
            return "it goes on; get_run with wait_s waits for it"
        case RunStatus.WAITING:
            way = "control_run approve asks your user, or " if is_askable else ""
            return (
                f"a person has to decide on the pending approvals: {way}give them the link; "
                "then get_run"
            )
        case RunStatus.PAUSED:
            return "control_run with one of the actions"
        case RunStatus.UNKNOWN:
            return (
                f"nobody knows whether {_unknown(view)} took effect: look, then control_run "
                "replan or abort; only a person may have it called again, in the console or by "
                "`manage.py control_run`"
            )
        case _ if view.is_direct and view.delivered_at is None:
            return ONCE_MORE
    return ""


def _unknown(view: RunView) -> str:
    names = [
        task.task
        for task in view.tasks
        if task.item == WHOLE_TASK and task.status is TaskStatus.UNKNOWN
    ]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
