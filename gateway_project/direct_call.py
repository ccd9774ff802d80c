"""A single call that a person has to approve first: a run of one task, that ends in its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from execution import call
from execution.call import Outcome, Request
from execution.call_errors import ApprovalRequired, CallError
from execution.codes import TOOL_ERROR
from execution.planning import parse, plan
from execution.run_means import reached
from execution.store import direct_calls
from execution.view import ApprovalView, RunView, TaskView
from execution.workflow import Options
from gateway_project.foundation.caller import Caller
from gateway_project.foundation.sealing import Sealer
from gateway_project.run_face.request import MAX_WAIT_S, Watch, unwatched
from graph.references import escaped
from tools.catalogue import Catalogue
from tools.upstream.result import UpstreamResult

if TYPE_CHECKING:
    from execution.runs import Runs

TASK: Final = "call"
"""Id of its one task."""
MS_PER_S: Final = 1_000

Consult = Callable[[Sequence[ApprovalView]], Awaitable[bool]]
"""Asks the caller's user about what waits; returns whether anything was decided."""


async def nobody(_pending: Sequence[ApprovalView]) -> bool:
    """Ask nobody: there is no user to be asked here."""
    return False


class Effects(Protocol):
    """What such a call reaches for; see `gateway_project.effects.Effects`."""

    @property
    def catalogue(self) -> Callable[[], Catalogue]:
        """What is known of servers and tools right now."""

    @property
    def runs(self) -> Runs:
        """The runs of the installation."""

    @property
    def sealer(self) -> Sealer:
        """Makes digests."""

    @property
    def approval_link(self) -> Callable[[UUID], str]:
        """Page where an approval is decided."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """How the user behind a call is reached.

    Attributes:
        consult: Asks them.
        watch: Entered while the call is waited for.
    """

    consult: Consult = nobody
    watch: Watch = unwatched


NOBODY: Final = Person()


class DirectCallFailed(CallError):
    """The call was decided against, or failed after it was approved.

    Attributes:
        code: That of its task.
        run: Id of its run.
    """

    def __init__(self, code: str, message: str, *, run: UUID) -> None:
        super().__init__(message)
        self.code = code
        self.run = run


class CallInProgress(CallError):
    """The call is approved and under way."""

    code = "call_in_progress"

    def __init__(self, tool: str, run: UUID) -> None:
        super().__init__(
            f"{tool} is called and has not answered yet; get_run {run} waits for it, or call "
            "again with the same arguments"
        )
        self.run = run


async def conclude(
    effects: Effects, caller: Caller, request: Request, *, person: Person = NOBODY
) -> Outcome[UpstreamResult]:
    """Have a call made once a person approves it, and return what came of it, once.

    The first call with some arguments asks; the same call again finds what became of that. After
    its outcome was returned it is a new call. The run goes on whatever becomes of this.

    Args:
        effects: What it reaches for.
        caller: Who calls.
        request: What is called.
        person: How their user is asked.

    Raises:
        UnknownTool: If no such tool is visible to the caller.
        ApprovalRequired: If nobody has decided yet.
        CallError: If it was rejected, failed, or is still under way.
        RunsUnavailable: If the database is away: then nobody can be asked, and nothing is called.
    """
    run = await _started(effects, caller, request)
    view = await _at_rest(effects, caller, run, person)
    while view.pending and await person.consult(view.pending):
        view = await _at_rest(effects, caller, run, person)
    if view.pending:
        raise _required(view.pending[0], effects)
    task = view.tasks[0]
    if not view.status.is_at_rest:
        raise CallInProgress(task.tool, run)
    await reached(direct_calls.deliver, run)  # of what has not ended nothing is noted
    return _outcome(view, task)


async def _started(effects: Effects, caller: Caller, request: Request) -> UUID:
    """Return the run that makes this call: a new one, or that of the same call before."""
    catalogue = effects.catalogue()
    prepared = call.prepare(
        request, caller=caller, catalogue=catalogue, digest=effects.sealer.digest
    )
    task = {"id": TASK, "tool": prepared.tool, "arguments": escaped(dict(request.arguments))}
    if request.timeout_s is not None:
        task["timeout_s"] = request.timeout_s
    options = Options()
    workflow = parse.parse({"tasks": [task]})
    planned = plan.plan(workflow, options, caller=caller, catalogue=catalogue)
    key = f"direct {prepared.definition_hash} {prepared.arguments_digest} {prepared.tool}"
    started = await effects.runs.start(
        caller, planned, options=options, idempotency_key=key, is_direct=True
    )
    return started.run


async def _at_rest(effects: Effects, caller: Caller, run: UUID, person: Person) -> RunView:
    async with person.watch(run):
        return await effects.runs.wait(caller, run, wait_s=MAX_WAIT_S)


def _required(approval: ApprovalView, effects: Effects) -> ApprovalRequired:
    return ApprovalRequired(
        approval.tool,
        approval.reason,
        run=approval.run,
        approval=approval.id,
        link=effects.approval_link(approval.id),
    )


def _outcome(view: RunView, task: TaskView) -> Outcome[UpstreamResult]:
    """Return what the tool answered, its own errors included.

    Raises:
        DirectCallFailed: If it did not answer.
    """
    if task.result is None or task.error_code not in ("", TOOL_ERROR):
        code = task.error_code or view.error_code or f"run_{view.status.value}"
        message = task.error or view.error or f"the call ended as {view.status.value}"
        raise DirectCallFailed(code, f"{task.tool}: {message} (run {view.id})", run=view.id)
    return Outcome(
        tool=task.tool,
        definition_hash=task.definition_hash,
        result=UpstreamResult.from_wire(dict(task.result)),
        duration_s=(task.duration_ms or 0.0) / MS_PER_S,
    )
