"""The only path to an upstream tool: permission, approval, deadline, retries and outcome.

Uses the in-memory catalogue; a call needs no database access.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from execution import approval, retry
from execution.argument_validation import (
    may_server_judge,
    validate_fully,
    validate_within_loop_budget,
)
from execution.availability import require_usable
from execution.call_errors import (
    ApprovalRequired,
    CallError,
    CallNotPermitted,
    DeadlineExceeded,
    DefinitionUnusable,
    InvalidArguments,
    ToolUnavailable,
)
from execution.call_outcome import CallOutcome, EndedCall, let_server_judge
from execution.codes import TOOL_ERROR
from gateway_project.foundation import canonical, computing, json_size, schema, telemetry
from gateway_project.foundation.caller import Caller
from tools.catalogue import Catalogue, CatalogueTool, UnknownTool
from tools.upstream.errors import UpstreamError
from tools.upstream.request import UpstreamRequest

if TYPE_CHECKING:
    from tools.pinned_upstream import PinnedUpstream
    from tools.upstream.result import UpstreamResult

__all__ = [
    "Admission",
    "ApprovalGrant",
    "ApprovalRequired",
    "CallError",
    "CallNotPermitted",
    "CallOutcome",
    "DeadlineExceeded",
    "DefinitionUnusable",
    "EndedCall",
    "InvalidArguments",
    "PreparedCall",
    "ToolUnavailable",
    "admit",
    "call",
    "prepare",
]

SCOPE = "call"
CANCELLED: Final = "cancelled"
"""Code of a call whose caller no longer waits for it."""
FAILED: Final = "failed"
"""Code of a call that failed with an error without a code."""
_UNKNOWN_TOOL: Final = "unknown_tool"
_INPUT_REQUIRED: Final = "input_required"
_UNFINISHED_CODES: Final = frozenset({ApprovalRequired.code, _INPUT_REQUIRED})
"""Codes of calls that have not ended."""

Digest = Callable[[Any], str]
"""Keyed digest of a JSON value, such as `Sealer.digest`."""
OnRetry = Callable[[int, BaseException], None]
"""Called with the number of failed attempts and the last error."""
OnCallEnded = Callable[["EndedCall"], None]
"""Called with each call that ended, on the event loop; takes microseconds and never raises."""
SendCall = Callable[[], Awaitable["UpstreamResult"]]
"""Sends the call once; cancelling it cancels the call upstream."""
AnswerRequest = Callable[
    [Caller, CatalogueTool, UpstreamRequest, Callable[[], Awaitable[CallOutcome]]],
    Awaitable[CallOutcome],
]
"""Answers a request of a caller for a tool, perhaps by the function that sends it."""


async def send_request(
    _caller: Caller,
    _tool: CatalogueTool,
    _request: UpstreamRequest,
    send: Callable[[], Awaitable[CallOutcome]],
) -> CallOutcome:
    """Null implementation of `AnswerRequest`: send it."""
    return await send()


def ignore_ended_call(_ended: EndedCall) -> None:
    """Null implementation of `OnCallEnded`."""


@dataclass(frozen=True, kw_only=True)
class PreparedCall:
    """A permitted call, as it would be made now.

    Attributes:
        tool: Canonical id.
        server: Name of its server.
        definition_hash: Of the pinned definition.
        arguments_digest: Keyed digest of the caller, the tool and the exact arguments.
        approval_reason: Why the call needs approval; empty: it does not.
        repeatable: Whether it may be repeated after an unknown outcome.
    """

    tool: str
    server: str
    definition_hash: str
    arguments_digest: str
    approval_reason: str
    repeatable: bool


@dataclass(frozen=True, kw_only=True)
class ApprovalGrant:
    """A consumed, single-use approval for one exact call.

    Attributes:
        approval: Primary key of the approval.
        tool: Canonical id.
        definition_hash: Of the definition that was approved.
        arguments_digest: Of the caller, the tool and the arguments that were approved.
    """

    approval: UUID
    tool: str
    definition_hash: str
    arguments_digest: str


@dataclass(frozen=True, kw_only=True)
class Admission:
    """A call that its caller may make now.

    Attributes:
        tool: The tool to call.
        is_small: Whether validation fits into the event loop, now and again later.
        misfit: What does not fit of arguments that the server may judge; None: they are valid.
    """

    tool: CatalogueTool
    is_small: bool
    misfit: InvalidArguments | None = None


def prepare(
    request: UpstreamRequest,
    *,
    caller: Caller,
    catalogue: Catalogue,
    digest: Digest,
    is_validated: bool = False,
) -> PreparedCall:
    """Check a call without making it.

    Args:
        request: The call; arguments too costly for the event loop are validated when it is made.
        caller: The caller.
        catalogue: Servers and tools.
        digest: Keyed digest of a JSON value.
        is_validated: Whether the arguments are known to fit, by this same catalogue.

    Raises:
        UnknownTool: If the caller sees no such tool.
        CallError: If the call is not permitted or its arguments are invalid.
    """
    tool = _require_callable_tool(request, caller, catalogue)
    if not is_validated:
        validate_within_loop_budget(tool, request.arguments)
    return PreparedCall(
        tool=tool.tool,
        server=tool.server,
        definition_hash=tool.definition_hash,
        arguments_digest=_compute_call_digest(tool, request.arguments, caller, digest),
        approval_reason=approval.explain_call_approval(
            tool, request.arguments, caller=caller, catalogue=catalogue
        ),
        repeatable=tool.repeatable,
    )


async def admit(
    request: UpstreamRequest,
    *,
    caller: Caller,
    catalogue: Catalogue,
    passes_misfits: bool = False,
    is_validated: bool = False,
) -> Admission:
    """Check permission and validate arguments in full; raises as `call` does."""
    tool = _require_callable_tool(request, caller, catalogue)
    if is_validated:
        return Admission(tool=tool, is_small=True)
    try:
        is_small = validate_within_loop_budget(tool, request.arguments)
        if not is_small:
            whose = (caller.user, caller.team)
            await computing.run_in_validation_thread(
                whose, validate_fully, tool, request.arguments
            )
    except InvalidArguments as error:
        if not (passes_misfits and may_server_judge(tool, request.arguments)):
            raise
        return Admission(tool=tool, is_small=False, misfit=error)
    return Admission(tool=tool, is_small=is_small)


async def call(  # noqa: PLR0913 - caller, call, collaborators and grant
    request: UpstreamRequest,
    *,
    caller: Caller,
    catalogue: Catalogue,
    upstream: PinnedUpstream,
    grant: ApprovalGrant | None = None,
    digest: Digest | None = None,
    on_retry: OnRetry = lambda _failed, _error: None,
    latest: Callable[[], Catalogue] | None = None,
    on_ended: OnCallEnded = ignore_ended_call,
    answer: AnswerRequest = send_request,
    passes_misfits: bool = False,
    is_validated: bool = False,
) -> CallOutcome:
    """Call an upstream tool on behalf of a caller.

    A call made ahead may answer it, which `CallOutcome.served` says.

    A repeatable call that fails in transport is retried: at most `len(retry.DELAYS_S)` times, and
    within its time limit, which covers all attempts and each report of progress starts anew.

    The call has not ended if it needs approval first, or if the server asks for input: it will be
    made again.

    Args:
        request: The call.
        caller: The caller.
        catalogue: Servers and tools.
        upstream: The pool of servers.
        grant: Approval consumed for this call; None: none.
        digest: The function that made the grant's digest; without it no grant counts.
        on_retry: Called before each retry.
        latest: Returns the current catalogue before each retry, which must still permit the call.
            None: `catalogue` remains in force.
        on_ended: Called once the call has ended, successfully or not.
        answer: Answers the request, once it is admitted, with a call made ahead or by sending it.
        passes_misfits: Whether arguments may be passed on as `may_server_judge` says.
        is_validated: Whether the arguments are known to fit, by this same catalogue.

    Raises:
        UnknownTool: If the caller sees no such tool.
        ApprovalRequired: If this exact call needs approval first.
        CallError: If the call is not permitted, is invalid, or is not answered in time.
        UpstreamError: If the server cannot be reached or the connection breaks; has a code too.
    """
    started = time.monotonic()
    code, result, served = CANCELLED, None, None
    tool: CatalogueTool | None = None
    try:
        admission = await admit(
            request,
            caller=caller,
            catalogue=catalogue,
            passes_misfits=passes_misfits,
            is_validated=is_validated,
        )
        tool = admission.tool
        if approval_reason := approval.explain_approval(tool, caller=caller, catalogue=catalogue):
            await _require_grant(grant, tool, request, caller, digest, approval_reason)

        def can_retry() -> bool:
            return latest is None or _is_retry_allowed(
                request, tool, caller, latest(), bool(grant)
            )

        async with _limit_time(tool.tool, request) as timed:
            limit_s = request.timeout_s or catalogue.servers[tool.server].call_timeout_s
            renamed = timed.rename_tool(tool.name)
            send = partial(
                _send,
                partial(upstream.call_tool, tool.server, renamed, caller=caller),
                caller=caller,
                retry_s=(limit_s or retry.DEFAULT_WINDOW_S) if tool.repeatable else 0.0,
                can_retry=can_retry,
                on_retry=on_retry,
            )
            answered = answer(caller, tool, timed, partial(_dispatch, timed, tool, send))
            if admission.misfit is not None:
                answered = let_server_judge(answered, admission.misfit)
            outcome = await answered
        result, served = outcome.result, outcome.served
        code = _INPUT_REQUIRED if result.is_interim else TOOL_ERROR if result.is_error else ""
    except Exception as error:
        code = _UNKNOWN_TOOL if isinstance(error, UnknownTool) else find_error_code(error)
        raise
    finally:
        if code not in _UNFINISHED_CODES:
            on_ended(
                EndedCall(
                    caller=caller,
                    tool=tool or _find_visible_tool(request.tool, caller, catalogue),
                    arguments=request.arguments,
                    code=code,
                    result=result,
                    duration_s=time.monotonic() - started,
                    served=served,
                )
            )
    return outcome


def find_error_code(error: Exception) -> str:
    """Return the stable code of an error; `failed` if it has none."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and code else FAILED


def _find_visible_tool(name: str, caller: Caller, catalogue: Catalogue) -> CatalogueTool | None:
    """Return a tool by its name; None if the caller sees no such tool."""
    try:
        return catalogue.find_tool(name, caller)
    except UnknownTool:
        return None


def _require_callable_tool(
    request: UpstreamRequest, caller: Caller, catalogue: Catalogue
) -> CatalogueTool:
    """Return the tool, if the caller may call it now."""
    if not caller.has_scope(SCOPE):
        raise CallNotPermitted(caller)
    tool = catalogue.find_tool(request.tool, caller)
    require_usable(tool, catalogue)
    return tool


def _is_retry_allowed(
    request: UpstreamRequest,
    tool: CatalogueTool,
    caller: Caller,
    catalogue: Catalogue,
    has_grant: bool,
) -> bool:
    """Whether the current catalogue still permits a retry, with the same definition."""
    try:
        current = _require_callable_tool(request, caller, catalogue)
    except (CallError, UnknownTool):
        return False
    is_same = (current.pk, current.definition_hash) == (tool.pk, tool.definition_hash)
    approval_reason = approval.explain_approval(current, caller=caller, catalogue=catalogue)
    return is_same and current.repeatable and (has_grant or not approval_reason)


async def _require_grant(
    grant: ApprovalGrant | None,
    tool: CatalogueTool,
    request: UpstreamRequest,
    caller: Caller,
    digest: Digest | None,
    reason: str,
) -> None:
    """Check that a grant is for exactly this call.

    Raises:
        ApprovalRequired: If it is not.
    """
    required = ApprovalRequired(tool.tool, reason)
    if grant is None or digest is None:
        raise required
    if (grant.tool, grant.definition_hash) != (tool.tool, tool.definition_hash):
        raise required
    make_digest = partial(_compute_call_digest, tool, request.arguments, caller, digest)
    is_small = json_size.is_small(request.arguments)
    actual = make_digest() if is_small else await computing.run_in_message_thread(make_digest)
    if grant.arguments_digest != actual:
        raise required


def _compute_call_digest(
    tool: CatalogueTool, arguments: Mapping[str, Any], caller: Caller, digest: Digest
) -> str:
    """Return the keyed digest of the caller, the tool and the exact arguments.

    Includes the tool's primary key: two servers may define a tool identically, and a server may
    return under another's name, so the definition hash does not tell them apart.
    """
    try:
        whose = [caller.user, caller.team, *([] if caller.group is None else [caller.group])]
        return digest([*whose, tool.tool, tool.pk, dict(arguments)])
    except canonical.NotCanonicalizable as error:
        problem = schema.ArgumentProblem(path="", message=str(error), expected="JSON")
        raise InvalidArguments(tool.tool, (problem,)) from None


@asynccontextmanager
async def _limit_time(tool: str, request: UpstreamRequest) -> AsyncIterator[UpstreamRequest]:
    """Apply the request's own time limit, if it has one; yields the request with its deadline.

    Raises:
        DeadlineExceeded: If the time is up.
    """
    if request.timeout_s is None:
        yield request
        return
    started = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(request.timeout_s) as deadline:
            yield replace(request, deadline=deadline)
    except TimeoutError:
        if not deadline.expired():
            raise
        # Reports of progress may have extended it.
        allowed_s = round((deadline.when() or started) - started)
        raise DeadlineExceeded(tool, max(request.timeout_s, float(allowed_s))) from None


async def _dispatch(
    request: UpstreamRequest,
    tool: CatalogueTool,
    send: SendCall,
) -> CallOutcome:
    started = time.monotonic()
    outcome = CANCELLED
    try:
        result = await send()
        outcome = TOOL_ERROR if result.is_error else "ok"
        return CallOutcome(
            tool=tool.tool,
            definition_hash=tool.definition_hash,
            result=result,
            duration_s=time.monotonic() - started,
        )
    except asyncio.CancelledError:
        if request.deadline is not None and request.deadline.expired():
            outcome = DeadlineExceeded.code
        raise
    except Exception as error:
        outcome = find_error_code(error)
        raise
    finally:
        telemetry.calls.labels(tool.server, outcome).inc()
        telemetry.call_seconds.labels(tool.server).observe(time.monotonic() - started)


async def _send(
    send: SendCall,
    *,
    caller: Caller,
    retry_s: float,
    can_retry: Callable[[], bool],
    on_retry: OnRetry,
) -> UpstreamResult:
    """Return the answer to the first attempt that gets one within `retry_s`; 0: to the only one.

    Raises:
        UpstreamError: If none does; says no more than the caller may know.
    """
    started = time.monotonic()
    failure_count = 0
    while True:
        try:
            return await send()
        except UpstreamError as failure:
            error = failure.limit_to(caller)
        failure_count += 1
        left_s = retry_s - (time.monotonic() - started)
        pause_s = _choose_pause_s(failure_count, error, left_s=left_s)
        if pause_s is None:
            raise error
        await asyncio.sleep(pause_s)
        if not can_retry():
            raise error
        on_retry(failure_count, error)


def _choose_pause_s(failure_count: int, error: UpstreamError, *, left_s: float) -> float | None:
    pause_s = retry.choose_delay_s(failure_count, chance=random.random())  # noqa: S311 - jitter
    is_late = pause_s is None or pause_s >= left_s
    return None if is_late or not retry.is_transient(error) else pause_s
