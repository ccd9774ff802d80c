"""Runs as MCP tasks, for clients that speak the extension: the task of a run has the run's id.

A run that a person pauses works on as far as its client can tell, and one with an unknown outcome
has ended: only a decision continues it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mcp.shared.exceptions import MCPError

from execution.changes import WHOLE_TASK
from execution.control import Action, ActionNotPossible
from execution.status import RunStatus
from execution.store.runs import UnknownRun
from execution.view import ApprovalView, RunView
from gateway_project import flow
from gateway_project.mcp import (
    client_state,
    consent,
    questions,
)
from gateway_project.mcp.client_request import ClientRequest
from gateway_project.mcp.results import ServerReply
from gateway_project.mcp.task_ids import UnknownTask
from gateway_project.runs.request import ControlRequest
from tools.mcp_tasks import CANCELLED, COMPLETED, ID_FIELD, RESULT_TYPE

SHORT_WAIT_S: Final = 1.0
"""How long a call waits for its run before the client gets a task instead of the result."""
POLL_INTERVAL_MS: Final = 1_000
PERSON_INTERVAL_MS: Final = 5_000
"""The same while a person has to decide."""
MS_PER_S: Final = 1_000
_INPUT_REQUIRED: Final = "input_required"
_KEY_PREFIX: Final = "approval-"
"""Of the key of a question: the approval's id follows, so that no key comes twice."""


def is_open(view: RunView) -> bool:
    """Whether a run goes on by itself, or once a person has decided."""
    return not view.status.is_final and view.status is not RunStatus.UNKNOWN


async def create_task(request: ClientRequest, view: RunView) -> ServerReply:
    """Return the handle of a run, instead of the answer to the call that started it."""
    state = await describe_run(request, view)
    state.pop("inputRequests", None)
    return ServerReply(raw={**state, "resultType": RESULT_TYPE})


async def load_run(request: ClientRequest, run: str) -> RunView:
    """Return a run, with its payloads where they are shown.

    Raises:
        UnknownTask: If the caller has no such run.
    """
    try:
        view = await flow.get_run(request.effects, request.caller, run, results=False)
        if not is_open(view) or view.pending_approvals:
            view = await flow.get_run(request.effects, request.caller, run)
    except UnknownRun:
        raise UnknownTask from None
    return view


async def update_task(request: ClientRequest, run: str, responses: Mapping[str, Any]) -> None:
    """Serve `tasks/update` for a run: record what the client's user decided.

    Raises:
        UnknownTask: If the caller has no such run.
    """
    view = await load_run(request, run)
    for approval in await _list_askable(request, view):
        response = responses.get(f"{_KEY_PREFIX}{approval.id}")
        decision = consent.read_decision(response) if isinstance(response, Mapping) else None
        if decision is not None:
            await consent.record_decision(request.caller, approval, approve=decision)


async def cancel_task(request: ClientRequest, run: str) -> None:
    """Serve `tasks/cancel` for a run; one that has ended stays as it is.

    Raises:
        UnknownTask: If the caller has no such run.
    """
    if not is_open(await load_run(request, run)):
        return
    abort = ControlRequest(run=run, action=Action.ABORT.value)
    try:
        await flow.control_run(request.effects, request.caller, abort)
    except ActionNotPossible:
        return


async def describe_run(request: ClientRequest, view: RunView) -> dict[str, Any]:
    """Return the state of a run's task, but for its result, with what its user is asked."""
    asked = await _build_questions(request, view) if is_open(view) else {}
    kept_s = request.effects.run_results_s
    age_s = (view.changed_at - view.created_at).total_seconds()
    state = {
        ID_FIELD: str(view.id),
        "status": _choose_status(view, is_asking=bool(asked)),
        "statusMessage": await _write_message(request, view),
        "createdAt": _format_time(view.created_at),
        "lastUpdatedAt": _format_time(view.changed_at),
        "ttlMs": None if kept_s is None else round((age_s + kept_s) * MS_PER_S),
        "pollIntervalMs": PERSON_INTERVAL_MS if view.pending_approvals else POLL_INTERVAL_MS,
    }
    return {**state, "inputRequests": asked} if asked else state


def _choose_status(view: RunView, *, is_asking: bool) -> str:
    if is_asking:
        return _INPUT_REQUIRED
    if view.status is RunStatus.ABORTED:
        return CANCELLED
    return "working" if is_open(view) else COMPLETED


async def _write_message(request: ClientRequest, view: RunView) -> str:
    """Return what a person may read of a run."""
    if is_open(view) and view.pending_approvals:
        approval = view.pending_approvals[0]
        link = (await request.effects.open_console())(approval.id)
        where = link or "with `manage.py approvals`"
        return f"a person has to decide on the call of {approval.tool}: {where}"
    if not is_open(view):
        return view.status.value
    whole = [task for task in view.tasks if task.item == WHOLE_TASK]
    done = sum(task.status.is_done for task in whole)
    return f"{view.status.value}: {done} of {len(whole)} tasks done"


async def _build_questions(request: ClientRequest, view: RunView) -> dict[str, Any]:
    """Return the questions about pending approvals that the client can put to its user."""
    return {
        f"{_KEY_PREFIX}{one.id}": await _build_question(request, one)
        for one in await _list_askable(request, view)
    }


async def _list_askable(request: ClientRequest, view: RunView) -> list[ApprovalView]:
    """Return the approvals that the client can show to its user, who may decide on them."""
    capabilities = client_state.read_capabilities(request.ctx)
    try:
        questions.require_askable(capabilities, questions.ELICIT, {})
    except MCPError:
        return []
    pending = [one for one in view.pending_approvals if one.arguments is not None]
    return pending if pending and await consent.may_decide_own(request.caller) else []


async def _build_question(request: ClientRequest, approval: ApprovalView) -> dict[str, Any]:
    open_console = request.effects.open_console
    params = await consent.build_question(request.caller, approval, open_console)
    return {"method": questions.ELICIT, "params": params}


def _format_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
