"""The sole way to an upstream tool: permission, approval, deadline, retry and outcome, once.

Works on the catalogue in memory: no database stands on the path of a call.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from execution import approval, retry
from execution.call_errors import (
    ApprovalRequired,
    CallError,
    DeadlineExceeded,
    DefinitionUnusable,
    InvalidArguments,
    NotPermitted,
    ToolUnavailable,
)
from execution.fitting import require_fitting
from execution.usable import require_usable
from gateway_project.foundation import canonical, schema, telemetry
from gateway_project.foundation.caller import Caller
from tools.catalogue import Catalogue, CatalogueTool, UnknownTool
from tools.upstream.downstream import NOBODY, Downstream
from tools.upstream.errors import UpstreamError

__all__ = [
    "ApprovalRequired",
    "CallError",
    "DeadlineExceeded",
    "DefinitionUnusable",
    "InvalidArguments",
    "Leave",
    "NotPermitted",
    "Outcome",
    "Prepared",
    "Request",
    "ToolUnavailable",
    "Upstream",
    "UpstreamResult",
    "call",
    "prepare",
]

SCOPE = "call"

Digest = Callable[[Any], str]
"""Keyed digest of a JSON value, such as `Sealer.digest`."""
OnRetry = Callable[[int, BaseException], None]
"""Told how many attempts have failed, and how the last did."""


class Progress(Protocol):
    """Told what a server reports while it works on a call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take one report; `progress` grows, `total` is where it ends if that is known."""


class UpstreamResult(Protocol):
    """What an upstream answers with; carried through as it is."""

    @property
    def is_error(self) -> bool:
        """Whether the tool itself reports a failure."""

    @property
    def raw(self) -> Mapping[str, Any]:
        """The result as it came."""


R_co = TypeVar("R_co", bound=UpstreamResult, covariant=True)
R = TypeVar("R", bound=UpstreamResult)


class Upstream(Protocol[R_co]):
    """The pool of upstream servers, as far as a call needs it."""

    async def call_tool(  # noqa: PLR0913 - one for each thing that may go out with a call
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
        downstream: Downstream = NOBODY,
        input_responses: Mapping[str, Any] | None = None,
        request_state: str | None = None,
    ) -> R_co:
        """Call a tool; cancelling this cancels the call upstream."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is called, and how.

    Attributes:
        tool: Canonical id, exposed name, or a bare name that only one server has.
        arguments: As the tool's schema wants them.
        timeout_s: Seconds the call may take, the start of its server included; None: the limits
            configured for the server, which the pool keeps.
        progress: Told what the server reports while it works; None: not asked for.
        meta: Request metadata for the server, such as a trace context.
        downstream: The client it is made for, which the server may want to ask something.
        input_responses: Answers to what the server asked when it was called before.
        request_state: What the server gave then to be handed back, unread.
    """

    tool: str
    arguments: Mapping[str, Any]
    timeout_s: float | None = None
    progress: Progress | None = None
    meta: Mapping[str, Any] | None = None
    downstream: Downstream = NOBODY
    input_responses: Mapping[str, Any] | None = None
    request_state: str | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[R_co]):
    """A call that reached its server and was answered.

    Attributes:
        tool: Canonical id.
        definition_hash: Of the pinned definition that was called.
        result: As the server gave it, its errors included.
        duration_s: From dispatch to answer.
    """

    tool: str
    definition_hash: str
    result: R_co
    duration_s: float


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A call that may be made, as it would be made now.

    Attributes:
        tool: Canonical id.
        server: Name of its server.
        definition_hash: Of the pinned definition.
        arguments_digest: Keyed digest of the caller, the tool and the exact arguments.
        asks: Why a person has to approve it first; empty: nobody has to.
        repeatable: Whether it may be made again when nobody knows how it ended.
    """

    tool: str
    server: str
    definition_hash: str
    arguments_digest: str
    asks: str
    repeatable: bool


@dataclass(frozen=True, kw_only=True)
class Leave:
    """A person's approval of one call, used up already by the one who holds this.

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


def prepare(request: Request, *, caller: Caller, catalogue: Catalogue, digest: Digest) -> Prepared:
    """Check a call and say what it takes, without making it.

    Args:
        request: What is called.
        caller: Who asks.
        catalogue: What is known of servers and tools.
        digest: Keyed digest of a JSON value.

    Raises:
        UnknownTool: If no such tool is visible to the caller.
        CallError: If the call is not allowed, or does not fit.
    """
    tool = _admitted(request, caller, catalogue)
    return Prepared(
        tool=tool.tool,
        server=tool.server,
        definition_hash=tool.definition_hash,
        arguments_digest=_digest_of(tool, request.arguments, caller, digest),
        asks=approval.of_call(tool, request.arguments, caller=caller, catalogue=catalogue),
        repeatable=tool.repeatable,
    )


async def call(  # noqa: PLR0913 - whose call, of what, by what, and by whose leave
    request: Request,
    *,
    caller: Caller,
    catalogue: Catalogue,
    upstream: Upstream[R],
    leave: Leave | None = None,
    digest: Digest | None = None,
    on_retry: OnRetry = lambda _failed, _error: None,
    latest: Callable[[], Catalogue] | None = None,
) -> Outcome[R]:
    """Call an upstream tool on behalf of a caller.

    A call that fails on its way is made again where the tool is repeatable: three times at most,
    within its time.

    Args:
        request: What is called.
        caller: Who asks.
        catalogue: What is known of servers and tools.
        upstream: The pool of servers.
        leave: A person's approval, used up for this call; None: there is none.
        digest: What the leave's digest was made with; without it no leave counts.
        on_retry: Told how many attempts have failed and how the last did, before the next.
        latest: What is known of servers and tools by then: a call that may not be made any more is
            not made again. None: what was known at first.

    Raises:
        UnknownTool: If no such tool is visible to the caller.
        ApprovalRequired: If a person has to approve exactly this first.
        CallError: If the call is not allowed, does not fit, or is not answered in time.
        UpstreamError: If the server could not be reached or broke off; it carries a code too.
    """
    tool = _admitted(request, caller, catalogue)
    asks = approval.reason(tool, caller=caller, catalogue=catalogue)
    if asks and not _is_for(leave, tool, request.arguments, caller, digest):
        raise ApprovalRequired(tool.tool, asks)
    limit_s = request.timeout_s or catalogue.servers[tool.server].call_timeout_s
    window_s = limit_s or retry.DEFAULT_LIMIT_S

    def may_still() -> bool:
        return latest is None or _is_as_before(request, tool, caller, latest(), bool(leave))

    attempts = _Attempts(upstream, tool, on_retry=on_retry, window_s=window_s, may_still=may_still)
    return await _dispatch(request, tool, attempts.call)


def _admitted(request: Request, caller: Caller, catalogue: Catalogue) -> CatalogueTool:
    """Return the tool that is called, if the caller may call it now, and so."""
    if not caller.may(SCOPE):
        raise NotPermitted(caller)
    tool = catalogue.find(request.tool, caller)
    require_usable(tool, catalogue)
    require_fitting(tool, request.arguments)
    return tool


def _is_as_before(
    request: Request, tool: CatalogueTool, caller: Caller, known: Catalogue, has_leave: bool
) -> bool:
    """Whether a call may be made again, by what is known of its tool now."""
    try:
        now = _admitted(request, caller, known)
    except (CallError, UnknownTool):
        return False
    is_same = (now.pk, now.definition_hash) == (tool.pk, tool.definition_hash)
    asks = approval.reason(now, caller=caller, catalogue=known)
    return is_same and now.repeatable and (has_leave or not asks)


def _is_for(
    leave: Leave | None,
    tool: CatalogueTool,
    arguments: Mapping[str, Any],
    caller: Caller,
    digest: Digest | None,
) -> bool:
    """Whether a leave is for just this call."""
    return (
        leave is not None
        and digest is not None
        and leave.tool == tool.tool
        and leave.definition_hash == tool.definition_hash
        and leave.arguments_digest == _digest_of(tool, arguments, caller, digest)
    )


def _digest_of(
    tool: CatalogueTool, arguments: Mapping[str, Any], caller: Caller, digest: Digest
) -> str:
    """Return the keyed digest that stands for a caller, a tool and exactly these arguments.

    Two servers may define a tool alike, and one may come back under the name of another: the
    hash of a definition does not tell them apart.
    """
    try:
        return digest([caller.user, caller.team, tool.tool, tool.pk, dict(arguments)])
    except canonical.NotCanonical as error:
        problem = schema.Problem(path="", message=str(error), expected="JSON")
        raise InvalidArguments(tool.tool, (problem,)) from None


async def _dispatch(
    request: Request, tool: CatalogueTool, send: Callable[[Request], Awaitable[R]]
) -> Outcome[R]:
    started = time.monotonic()
    outcome = "cancelled"
    try:
        async with asyncio.timeout(request.timeout_s) as deadline:
            result = await send(request)
        outcome = "tool_error" if result.is_error else "ok"
        return Outcome(
            tool=tool.tool,
            definition_hash=tool.definition_hash,
            result=result,
            duration_s=time.monotonic() - started,
        )
    except TimeoutError:
        if request.timeout_s is None or not deadline.expired():
            raise
        outcome = DeadlineExceeded.code
        raise DeadlineExceeded(tool.tool, request.timeout_s) from None
    except Exception as error:
        outcome = str(getattr(error, "code", "failed"))
        raise
    finally:
        telemetry.calls.labels(tool.server, outcome).inc()
        telemetry.call_seconds.labels(tool.server).observe(time.monotonic() - started)


class _Attempts(Generic[R]):
    """Sends a call, and again where that may help and cannot harm."""

    def __init__(
        self,
        upstream: Upstream[R],
        tool: CatalogueTool,
        *,
        on_retry: OnRetry,
        window_s: float,
        may_still: Callable[[], bool],
    ) -> None:
        self._upstream = upstream
        self._tool = tool
        self._on_retry = on_retry
        self._window_s = window_s
        self._may_still = may_still

    async def call(self, request: Request) -> R:
        """Return the server's answer, to the first attempt that has one."""
        if not self._tool.repeatable:
            return await self._send(request)
        started = time.monotonic()
        failed = 0
        while True:
            try:
                return await self._send(request)
            except UpstreamError as error:
                failed += 1
                pause_s = self._pause_s(failed, error, spent_s=time.monotonic() - started)
                if pause_s is None:
                    raise
                await asyncio.sleep(pause_s)
                if not self._may_still():
                    raise
                self._on_retry(failed, error)

    def _pause_s(self, failed: int, error: UpstreamError, *, spent_s: float) -> float | None:
        pause_s = retry.delay_s(failed, chance=random.random())  # noqa: S311 - jitter
        late = pause_s is None or spent_s + pause_s >= self._window_s
        return None if late or not retry.is_transient(error) else pause_s

    async def _send(self, request: Request) -> R:
        return await self._upstream.call_tool(
            self._tool.server,
            self._tool.name,
            dict(request.arguments),
            timeout_s=request.timeout_s,
            progress=request.progress,
            meta=request.meta,
            downstream=request.downstream,
            input_responses=request.input_responses,
            request_state=request.request_state,
        )
