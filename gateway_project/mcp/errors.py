"""Maps exceptions to what clients read: a stable code, one line, and data for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

import structlog
from django.db import Error as DatabaseError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    URL_ELICITATION_REQUIRED,
)

from execution.call_errors import ApprovalRequired, DeadlineExceeded, ToolUnavailable
from execution.control import ActionNotPossible
from execution.run_dependencies import RunsUnavailable
from gateway_project.foundation import telemetry
from gateway_project.foundation.database import is_database_away
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.text import strip_invisible
from gateway_project.foundation.user_error import UserError
from gateway_project.mcp import questions
from gateway_project.mcp.paging import InvalidCursor
from gateway_project.mcp.request_state import InvalidRequestState
from gateway_project.mcp.results import ERROR_KEY, ServerReply, report_failure
from gateway_project.mcp.task_ids import UnknownTask
from gateway_project.pass_through import (
    AmbiguousResource,
    PassThroughError,
    ReadNotPermitted,
    UnknownPrompt,
    UnknownResource,
    UnknownSkill,
)
from gateway_project.result_store import UnknownResult
from gateway_project.runs.continued_call import CallContinues
from gateway_project.runs.direct_call import CallInProgress
from tools.catalogue import UnknownTool
from tools.upstream.errors import CallTimedOut, UpstreamRefused

INTERNAL_CODE: Final = "internal_error"
MAX_PROBLEMS: Final = 50
"""Problems of one request that are reported."""
RESOURCE_NOT_FOUND: Final = -32002
"""JSON-RPC code of the handshake era; later eras use `INVALID_PARAMS`."""
_NOT_FOUND_ERRORS: Final = (UnknownResource, UnknownResult)
_INVALID_PARAMS_ERRORS: Final = (
    AmbiguousResource,
    InvalidCursor,
    InvalidRequestState,
    UnknownPrompt,
    UnknownSkill,
    UnknownTask,
)

_LONGER_CALLS: Final = (
    "; a run of run_workflow goes on without you, and get_run returns its result"
)
"""What a client can do about a call that ran out of time."""

log = structlog.get_logger(__name__)


def build_error_result(error: Exception) -> ServerReply:
    """Return the tool result that reports an error to the model.

    An unexpected error is logged with its traceback; the client gets the request id to look up.
    """
    code, message = explain_error(error)
    if isinstance(error, DeadlineExceeded) or (isinstance(error, CallTimedOut) and error.is_call):
        message += _LONGER_CALLS
    data = {"request_id": telemetry.current_request_id(), **collect_error_data(error)}
    return report_failure(code, message, hint=_write_hint(error), data=data)


def collect_error_data(error: Exception) -> dict[str, Any]:
    """Return what programs can use of an error: suggestions, problems, the approval it needs."""
    data: dict[str, Any] = {}
    if isinstance(error, UnknownTool):
        data["suggestions"] = list(error.suggestions)
    if isinstance(error, UserError) and error.problems:
        problems = error.problems[:MAX_PROBLEMS]
        data["problems"] = [dataclasses.asdict(problem) for problem in problems]
    if isinstance(error, ApprovalRequired):
        data |= error.data
    if isinstance(error, CallContinues | CallInProgress):
        data["run_id"] = str(error.run)
    if isinstance(error, ToolUnavailable) and error.findings:
        data["warnings"] = [strip_invisible(finding) for finding in error.findings]
    return data


def is_protocol_error(error: Exception, *, modern: bool) -> bool:
    """Whether the client's program, not its model, must act on an error of a call."""
    if isinstance(error, UpstreamRefused):
        if modern:
            return error.rpc_code == MISSING_REQUIRED_CLIENT_CAPABILITY
        return bool(questions.sign_visits(error))
    return isinstance(error, InvalidRequestState)


def to_protocol_error(error: Exception, *, modern: bool) -> MCPError:
    """Return the JSON-RPC error for an error; a server's own is passed on nearly unchanged.

    Args:
        error: The error to report.
        modern: Whether the client is of the stateless era.
    """
    if isinstance(error, UpstreamRefused):
        return MCPError(error.rpc_code, error.rpc_message, _extract_data(error))
    code, message = explain_error(error)
    own = {"code": code, "request_id": telemetry.current_request_id()}
    data = dict(error.data) if isinstance(error, PassThroughError) else {}
    if isinstance(error, UnknownResult):
        data["uri"] = error.uri
    number = _choose_rpc_code(error, modern=modern)
    return MCPError(number, f"{code}: {message}", {**data, ERROR_KEY: own})


def _extract_data(error: UpstreamRefused) -> Any:
    """Return the data of a server's own error, with the server named in questions to the user."""
    if error.rpc_code != URL_ELICITATION_REQUIRED:
        return error.data
    data = error.data if isinstance(error.data, Mapping) else {}
    return {**data, "elicitations": questions.sign_visits(error)}


def _choose_rpc_code(error: Exception, *, modern: bool) -> int:
    if isinstance(error, _NOT_FOUND_ERRORS):
        return INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
    if isinstance(error, _INVALID_PARAMS_ERRORS):
        return INVALID_PARAMS
    return INVALID_REQUEST if isinstance(error, ReadNotPermitted) else INTERNAL_ERROR


def explain_error(error: Exception) -> tuple[str, str]:
    """Return an error's code and its message in one line."""
    if isinstance(error, UserError):
        return error.code, error.explain()
    if isinstance(error, DatabaseError) and is_database_away(error):
        return RunsUnavailable.code, f"{summarize_error(error)}; try again in a moment"
    log.error("mcp.internal_error", exc_info=error)
    return INTERNAL_CODE, (
        f"internal gateway error; see the log for request {telemetry.current_request_id()}"
    )


def _write_hint(error: Exception) -> str:
    """Return extra lines for the model; empty if the message says enough.

    They list the expected value of each invalid field, or the findings in the texts of a tool that
    waits for a person's approval.
    """
    if isinstance(error, ActionNotPossible):
        return "get_run returns its status"
    if isinstance(error, ToolUnavailable):
        return "\n".join(
            f"found in its texts: {strip_invisible(finding)}" for finding in error.findings
        )
    if not isinstance(error, UserError):
        return ""
    expected = {
        problem.path.lstrip("/"): problem.expected
        for problem in error.problems[:MAX_PROBLEMS]
        if problem.expected not in problem.message
    }
    return f"expected: {json.dumps(expected, ensure_ascii=False)}" if expected else ""
