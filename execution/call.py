"""The sole way to an upstream tool: permission, arguments, deadline and outcome, once.

Works on the catalogue in memory: no database stands on the path of a call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from gateway_project.foundation import schema, telemetry
from gateway_project.foundation.caller import Caller
from tools.catalogue import Catalogue, CatalogueTool
from tools.upstream.downstream import NOBODY, Downstream

SCOPE = "call"


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
class Outcome(Generic[R]):
    """A call that reached its server and was answered.

    Attributes:
        tool: Canonical id.
        definition_hash: Of the pinned definition that was called.
        result: As the server gave it, its errors included.
        duration_s: From dispatch to answer.
    """

    tool: str
    definition_hash: str
    result: R
    duration_s: float


class CallError(Exception):
    """Root of what stands between a caller and a tool.

    Attributes:
        code: Stable word for programs.
    """

    code: ClassVar[str] = "call_failed"


class NotPermitted(CallError):
    """The caller may not call tools."""

    code = "not_permitted"

    def __init__(self, caller: Caller) -> None:
        super().__init__(
            f"{caller.user!r} may not call tools; an admin can grant the scope {SCOPE!r}"
        )


class ToolUnavailable(CallError):
    """The tool is known but may not be called now.

    Attributes:
        reason: disabled, pending, quarantined, removed or server_disabled.
        findings: What is doubtful in its texts, a line each.
    """

    code = "tool_unavailable"

    def __init__(self, tool: str, reason: str, *, findings: tuple[str, ...] = ()) -> None:
        super().__init__(f"{tool} {_REASONS[reason]}")
        self.reason = reason
        self.findings = findings


_REASONS: Mapping[str, str] = {
    "disabled": "is switched off; an admin can enable it in the console",
    "pending": "waits for an admin to approve it, in the console or by `manage.py approve_tools`",
    "quarantined": "changed since it was approved; an admin must look at the difference and "
    "approve it, in the console or by `manage.py approve_tools`",
    "removed": "is no longer offered by its server; search_tools finds others",
    "server_disabled": "belongs to a server that is switched off; an admin can enable it in the "
    "console",
}


class InvalidArguments(CallError):
    """The arguments do not fit the tool's schema.

    Attributes:
        problems: What is wrong, field by field.
    """

    code = "invalid_arguments"

    def __init__(self, tool: str, problems: tuple[schema.Problem, ...]) -> None:
        listed = "; ".join(problem.message for problem in problems)
        super().__init__(f"the arguments of {tool} do not fit: {listed}")
        self.problems = problems


class DefinitionUnusable(CallError):
    """Arguments cannot be judged by the schema that the server publishes."""

    code = "definition_unusable"

    def __init__(self, tool: str, reason: str) -> None:
        super().__init__(
            f"{tool} cannot be called safely: {reason}; its server's author must mend the schema"
        )


class DeadlineExceeded(CallError):
    """The call was not answered in time and has been cancelled."""

    code = "deadline_exceeded"

    def __init__(self, tool: str, timeout_s: float) -> None:
        super().__init__(f"{tool} was not answered within {timeout_s:g} s and was cancelled")


async def call(
    request: Request,
    *,
    caller: Caller,
    catalogue: Catalogue,
    upstream: Upstream[R],
) -> Outcome[R]:
    """Call an upstream tool on behalf of a caller.

    Args:
        request: What is called.
        caller: Who asks.
        catalogue: What is known of servers and tools.
        upstream: The pool of servers.

    Raises:
        UnknownTool: If no such tool is visible to the caller.
        CallError: If the call is not allowed, does not fit, or is not answered in time.
        UpstreamError: If the server could not be reached or broke off; it carries a code too.
    """
    if not caller.may(SCOPE):
        raise NotPermitted(caller)
    tool = catalogue.find(request.tool, caller)
    _require_usable(tool, catalogue)
    _require_fitting(tool, request.arguments)
    return await _dispatch(request, tool, upstream=upstream)


def _require_usable(tool: CatalogueTool, catalogue: Catalogue) -> None:
    server = catalogue.servers.get(tool.server)
    if server is None or not server.enabled:
        raise ToolUnavailable(tool.tool, "server_disabled")
    if tool.state != "active":
        raise ToolUnavailable(tool.tool, tool.state, findings=tool.findings)
    if not tool.enabled:
        raise ToolUnavailable(tool.tool, "disabled")


def _require_fitting(tool: CatalogueTool, arguments: Mapping[str, Any]) -> None:
    try:
        problems = schema.validate(tool.input_schema, arguments, cache_key=tool.definition_hash)
    except schema.SchemaUnusable as error:
        raise DefinitionUnusable(tool.tool, str(error)) from None
    if problems:
        raise InvalidArguments(tool.tool, problems)


async def _dispatch(request: Request, tool: CatalogueTool, *, upstream: Upstream[R]) -> Outcome[R]:
    started = time.monotonic()
    outcome = "cancelled"
    try:
        async with asyncio.timeout(request.timeout_s) as deadline:
            result = await upstream.call_tool(
                tool.server,
                tool.name,
                dict(request.arguments),
                timeout_s=request.timeout_s,
                progress=request.progress,
                meta=request.meta,
                downstream=request.downstream,
                input_responses=request.input_responses,
                request_state=request.request_state,
            )
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
