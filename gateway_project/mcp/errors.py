"""From an exception to what a client reads: a stable code, one line, and data for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

import structlog
from mcp_types import CallToolResult

from execution.call import CallError, InvalidArguments
from gateway_project.flow import SearchNotPermitted
from gateway_project.foundation import telemetry
from gateway_project.mcp.arguments import InvalidRequest
from gateway_project.mcp.failure import failure
from gateway_project.mcp.readiness import NotReady
from tools.catalogue import UnknownTool
from tools.query_text import QueryError
from tools.upstream.errors import UpstreamError

INTERNAL: Final = "internal_error"

_CODES: Final[Mapping[type[Exception], str]] = {
    UnknownTool: "unknown_tool",
    QueryError: InvalidArguments.code,
}
"""Codes of exceptions that carry none of their own."""
_OWN: Final = (CallError, InvalidRequest, NotReady, SearchNotPermitted, UpstreamError)

log = structlog.get_logger(__name__)


def result(error: Exception) -> CallToolResult:
    """Return the tool result that reports an error, so that the model reads it and can act.

    What is not foreseen is logged with its traceback, and the client gets the id to look for.
    """
    code, message = explain(error)
    data: dict[str, Any] = {"request_id": telemetry.current_request_id()}
    if isinstance(error, UnknownTool):
        data["suggestions"] = list(error.suggestions)
    if isinstance(error, InvalidArguments | InvalidRequest) and error.problems:
        data["problems"] = [dataclasses.asdict(problem) for problem in error.problems]
    return failure(code, message, hint=_hint(error), data=data)


def explain(error: Exception) -> tuple[str, str]:
    """Return an error's code and its message in one line."""
    if isinstance(error, _OWN):
        return error.code, str(error)
    for kind, code in _CODES.items():
        if isinstance(error, kind):
            return code, str(error)
    log.error("mcp.internal_error", exc_info=error)
    return INTERNAL, (
        "something in the gateway went wrong; the log of this request "
        f"({telemetry.current_request_id()}) says what"
    )


def _hint(error: Exception) -> str:
    """Show what is expected, field by field, where the message does not say it already."""
    if not isinstance(error, InvalidArguments | InvalidRequest):
        return ""
    expected = {
        problem.path.lstrip("/"): problem.expected
        for problem in error.problems
        if problem.expected not in problem.message
    }
    return f"expected: {json.dumps(expected, ensure_ascii=False)}" if expected else ""
