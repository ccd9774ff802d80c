"""From an exception to what a client reads: a stable code, one line, and data for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

import structlog
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    URL_ELICITATION_REQUIRED,
    CallToolResult,
)

from execution.call_errors import (
    ApprovalRequired,
    InvalidArguments,
    ToolUnavailable,
)
from execution.control import NotPossible
from execution.planning.parse import InvalidWorkflow
from gateway_project import user_errors
from gateway_project.foundation import telemetry
from gateway_project.kept_results import UnknownResult
from gateway_project.mcp import questions
from gateway_project.mcp.arguments import InvalidRequest
from gateway_project.mcp.failure import META_KEY, failure
from gateway_project.mcp.paging import InvalidCursor
from gateway_project.mcp.questions import CannotAsk
from gateway_project.mcp.request_state import InvalidRequestState
from gateway_project.pass_through import (
    AmbiguousResource,
    PassThroughError,
    ReadNotPermitted,
    UnknownPrompt,
    UnknownResource,
)
from gateway_project.run_face.plan import NotRunnable
from gateway_project.tool_card import clean
from tools.catalogue import UnknownTool
from tools.upstream.errors import UpstreamRefused

INTERNAL: Final = "internal_error"
MAX_PROBLEMS: Final = 50
"""Problems of one request that are told."""
_FIELD_BY_FIELD: Final = (InvalidArguments, InvalidRequest, InvalidWorkflow, NotRunnable)

OWN: Final = (CannotAsk, InvalidCursor, InvalidRequest, InvalidRequestState)
"""Those of the protocol alone."""
RESOURCE_NOT_FOUND: Final = -32002
"""Of the handshake era; later it is one of the invalid parameters."""
_MISSING: Final = (UnknownResource, UnknownResult)
_INVALID: Final = (AmbiguousResource, InvalidCursor, InvalidRequestState, UnknownPrompt)

log = structlog.get_logger(__name__)


def result(error: Exception) -> CallToolResult:
    """Return the tool result that reports an error, so that the model reads it and can act.

    What is not foreseen is logged with its traceback, and the client gets the id to look for.
    """
    code, message = explain(error)
    data: dict[str, Any] = {"request_id": telemetry.current_request_id()}
    if isinstance(error, UnknownTool):
        data["suggestions"] = list(error.suggestions)
    if isinstance(error, _FIELD_BY_FIELD) and error.problems:
        told = error.problems[:MAX_PROBLEMS]
        data["problems"] = [dataclasses.asdict(problem) for problem in told]
    if isinstance(error, ApprovalRequired):
        data |= error.data
    if isinstance(error, ToolUnavailable) and error.findings:
        data["warnings"] = [clean(finding) for finding in error.findings]
    return failure(code, message, hint=_hint(error), data=data)


def of_the_protocol(error: Exception, *, modern: bool) -> bool:
    """Whether an error of a call is for the client's program to act on, not for its model."""
    if isinstance(error, UpstreamRefused):
        if modern:
            return error.rpc_code == MISSING_REQUIRED_CLIENT_CAPABILITY
        return bool(questions.signed_visits(error))
    return isinstance(error, InvalidRequestState)


def as_protocol_error(error: Exception, *, modern: bool) -> MCPError:
    """Return the JSON-RPC error that reports an error; a server's own nearly as it came.

    Args:
        error: What went wrong.
        modern: Whether the client is of the era in which each request stands for itself.
    """
    if isinstance(error, UpstreamRefused):
        return MCPError(error.rpc_code, error.rpc_message, _data_of(error))
    code, message = explain(error)
    ours = {"code": code, "request_id": telemetry.current_request_id()}
    data = dict(error.data) if isinstance(error, PassThroughError) else {}
    if isinstance(error, UnknownResult):
        data["uri"] = error.uri
    number = _number(error, modern=modern)
    return MCPError(number, f"{code}: {message}", {**data, META_KEY: ours})


def _data_of(error: UpstreamRefused) -> Any:
    """Return the data of a server's own error; what its user would be asked says who asks."""
    if error.rpc_code != URL_ELICITATION_REQUIRED:
        return error.data
    data = error.data if isinstance(error.data, Mapping) else {}
    return {**data, "elicitations": questions.signed_visits(error)}


def _number(error: Exception, *, modern: bool) -> int:
    if isinstance(error, _MISSING):
        return INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
    if isinstance(error, _INVALID):
        return INVALID_PARAMS
    return INVALID_REQUEST if isinstance(error, ReadNotPermitted) else INTERNAL_ERROR


def explain(error: Exception) -> tuple[str, str]:
    """Return an error's code and its message in one line."""
    if isinstance(error, OWN):
        return error.code, str(error)
    if explained := user_errors.explained(error):
        return explained
    log.error("mcp.internal_error", exc_info=error)
    return INTERNAL, (
        "something in the gateway went wrong; the log of this request "
        f"({telemetry.current_request_id()}) says what"
    )


def _hint(error: Exception) -> str:
    """Show what is expected, field by field, where the message does not say it already.

    Of a tool that waits for a person, show what that person should look at, a line each.
    """
    if isinstance(error, NotPossible):
        return "get_run says how it stands"
    if isinstance(error, ToolUnavailable):
        return "\n".join(f"found in its texts: {clean(finding)}" for finding in error.findings)
    if not isinstance(error, _FIELD_BY_FIELD):
        return ""
    expected = {
        problem.path.lstrip("/"): problem.expected
        for problem in error.problems[:MAX_PROBLEMS]
        if problem.expected not in problem.message
    }
    return f"expected: {json.dumps(expected, ensure_ascii=False)}" if expected else ""
