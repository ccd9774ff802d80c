"""A direct call that becomes a run of one task, and one that does as it needs approval."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from execution import call
from execution.call import CallOutcome, PreparedCall
from execution.call_errors import ApprovalRequired, CallError
from execution.codes import TOOL_ERROR
from execution.planning import parse, plan
from execution.planning.plan import Plan
from execution.run_dependencies import run_in_database
from execution.store import runs as run_store
from execution.view import ApprovalView, RunView, TaskView
from execution.workflow import RunOptions, Workflow
from gateway_project.effects import Effects
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.computing import run_in_validation_thread
from gateway_project.foundation.references import escape_literals
from gateway_project.foundation.sealing import Sealer
from gateway_project.runs.request import MAX_WAIT_S, WatchRun, watch_nothing
from tools.catalogue import Catalogue
from tools.upstream.request import UpstreamRequest
from tools.upstream.result import UpstreamResult

TASK_ID: Final = "call"
"""Id of the run's only task."""
MS_PER_S: Final = 1_000
MIN_PATIENCE_S: Final = 0.1

ConsultUser = Callable[[Sequence[ApprovalView]], Awaitable[bool]]
"""Asks the caller's user about pending approvals; returns whether any was decided."""


async def ask_nobody(_pending: Sequence[ApprovalView]) -> bool:
    """Null implementation of `ConsultUser`: there is no user to ask."""
    return False


@dataclass(frozen=True, kw_only=True)
class UserChannel:
    """The means of reaching the user behind a call.

    Attributes:
        consult: Asks the user about pending approvals.
        watch: Context entered while waiting for the call.
        wait_s: Longest wait for the call; None: as long as for any run.
    """

    consult: ConsultUser = ask_nobody
    watch: WatchRun = watch_nothing
    wait_s: float | None = None


NO_USER: Final = UserChannel()


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a client waits for the answer to a call.

    Attributes:
        call_s: Seconds after which it has its answer, so that it does not give up.
        extends: Whether each report of progress that it gets starts them anew.
        spent_s: Seconds that it has waited already.
    """

    call_s: float
    extends: bool = False
    spent_s: float = 0.0

    @property
    def left_s(self) -> float:
        """Seconds that are left; never none, since most calls take only a moment."""
        return max(self.call_s - self.spent_s, MIN_PATIENCE_S)


class DirectCallFailed(CallError):
    """The call was rejected, or failed after its approval.

    Attributes:
        code: Error code of its task.
        run: Id of its run.
    """

    def __init__(self, code: str, message: str, *, run: UUID) -> None:
        super().__init__(message)
        self.code = code
        self.run = run


class CallInProgress(CallError):
    """The call is approved and in progress."""

    code = "call_in_progress"

    def __init__(self, tool: str, run: UUID) -> None:
        super().__init__(
            f"{tool} was called and has not answered yet; wait with get_run {run}, or call "
            "again with the same arguments"
        )
        self.run = run


async def conclude_call(
    effects: Effects,
    caller: Caller,
    request: UpstreamRequest,
    *,
    user_channel: UserChannel = NO_USER,
    patience: Patience | None = None,
) -> CallOutcome:
    """Make a call once a person approves it, and return its outcome, once.

    The first call with some arguments requests approval; the same call again joins the run of the
    first. After its outcome was returned, the same call is a new one. The run continues even if
    this call is cancelled.

    Args:
        effects: Catalogue, runs, digests and console.
        caller: Whose call it is.
        request: The tool and its arguments.
        user_channel: How the caller's user is asked.
        patience: Of the client, for the call and again after each decision.

    Raises:
        UnknownTool: If no such tool is visible to the caller.
        ApprovalRequired: If the approval is pending.
        CallError: If the call was rejected, failed, or is in progress.
        RunsUnavailable: If the database is away; then nothing is called.
    """
    run = await _start_or_find_run(effects, caller, request)
    limits = (user_channel.wait_s, None if patience is None else patience.left_s)
    wait_s = min([MAX_WAIT_S, *(one for one in limits if one is not None)])
    view = await _wait_until_settled(effects, caller, run, user_channel, wait_s)
    while view.pending_approvals and await user_channel.consult(view.pending_approvals):
        view = await _wait_until_settled(effects, caller, run, user_channel, wait_s)
    if view.pending_approvals:
        raise await _build_required_error(view.pending_approvals[0], effects)
    if not view.status.is_at_rest:
        raise CallInProgress(view.tasks[0].tool, run)
    return await deliver_outcome(view)


async def deliver_outcome(view: RunView) -> CallOutcome:
    """Return the outcome of the call of a run at rest; once it has ended, it counts as delivered.

    Raises:
        DirectCallFailed: If there is no result.
    """
    if view.status.is_final:
        await run_in_database(run_store.mark_delivered, view.id)
    return _build_outcome(view, view.tasks[0])


async def _start_or_find_run(effects: Effects, caller: Caller, request: UpstreamRequest) -> UUID:
    """Return the run of this call: a new one, or that of an identical earlier call."""
    catalogue = effects.catalogue()
    admission = await call.admit(request, caller=caller, catalogue=catalogue)
    plan_call = partial(
        plan_admitted_call, request, caller=caller, catalogue=catalogue, sealer=effects.sealer
    )
    if admission.is_small:
        prepared, planned = plan_call()
    else:
        prepared, planned = await run_in_validation_thread((caller.user, caller.team), plan_call)
    key = f"direct {prepared.definition_hash} {prepared.arguments_digest} {prepared.tool}"
    try:
        started = await effects.runs.start(caller, planned, idempotency_key=key, is_direct=True)
    except run_store.IdempotencyConflict as conflict:
        return conflict.run  # the same call with another time limit
    return started.run


def plan_admitted_call(
    request: UpstreamRequest, *, caller: Caller, catalogue: Catalogue, sealer: Sealer
) -> tuple[PreparedCall, Plan]:
    """Return a call that was admitted by this catalogue, and the plan of a run that makes it.

    Raises:
        InvalidWorkflow: If its arguments are too much for a run.
    """
    prepared = call.prepare(
        request, caller=caller, catalogue=catalogue, digest=sealer.digest, is_validated=True
    )
    workflow = _make_workflow(prepared.tool, request)
    planned = plan.plan_workflow(
        workflow, RunOptions(), caller=caller, catalogue=catalogue, validated={TASK_ID}
    )
    return prepared, planned


def _make_workflow(tool: str, request: UpstreamRequest) -> Workflow:
    """Return a workflow whose only task is this call."""
    task = {"id": TASK_ID, "tool": tool, "arguments": escape_literals(dict(request.arguments))}
    if request.timeout_s is not None:
        task["timeout_s"] = request.timeout_s
    return parse.parse({"tasks": [task]})


async def _wait_until_settled(
    effects: Effects, caller: Caller, run: UUID, user_channel: UserChannel, wait_s: float
) -> RunView:
    async with user_channel.watch(run):
        return await effects.runs.wait(caller, run, wait_s=wait_s)


async def _build_required_error(approval: ApprovalView, effects: Effects) -> ApprovalRequired:
    link = await effects.open_console()
    return ApprovalRequired(
        approval.tool,
        approval.reason,
        run=approval.run,
        approval=approval.id,
        link=link(approval.id),
    )


def _build_outcome(view: RunView, task: TaskView) -> CallOutcome:
    """Return the tool's result, including an error reported by the tool.

    Raises:
        DirectCallFailed: If there is no result.
    """
    if task.result is None or task.error_code not in ("", TOOL_ERROR):
        code = task.error_code or view.error_code or f"run_{view.status.value}"
        message = task.error or view.error or f"the call ended as {view.status.value}"
        raise DirectCallFailed(code, f"{task.tool}: {message} (run {view.id})", run=view.id)
    return CallOutcome(
        tool=task.tool,
        definition_hash=task.definition_hash,
        result=UpstreamResult(raw=dict(task.result)),
        duration_s=(task.duration_ms or 0.0) / MS_PER_S,
    )
