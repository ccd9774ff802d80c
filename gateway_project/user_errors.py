"""Errors that whoever asks has caused or has to know of: a stable code and one line for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from execution.call_errors import CallError, InvalidArguments
from execution.control import NotPossible
from execution.planning.parse import InvalidWorkflow
from execution.run_means import RunsUnavailable
from execution.store.approvals import NotPending, UnknownApproval
from execution.store.runs import IdempotencyConflict, TooManyRuns, UnknownRun
from gateway_project.flow import SearchNotPermitted
from gateway_project.foreign_text import told
from gateway_project.kept_results import UnknownResult
from gateway_project.pass_through import PassThroughError
from gateway_project.readiness import NotReady
from gateway_project.run_face.plan import NotRunnable
from graph.binding.parameters import ParameterError
from tools.catalogue import UnknownTool
from tools.query_text import QueryError
from tools.upstream.errors import UpstreamError

MAX_PARAMETER_ERROR: Final = 600
"""Characters of what is said of a parameter of run_intent."""
CODED: Final = (
    CallError,
    IdempotencyConflict,
    InvalidWorkflow,
    NotPending,
    NotPossible,
    NotReady,
    NotRunnable,
    PassThroughError,
    RunsUnavailable,
    SearchNotPermitted,
    TooManyRuns,
    UnknownApproval,
    UnknownResult,
    UnknownRun,
    UpstreamError,
)
"""Those that carry their code."""
_CODES: Final[Mapping[type[Exception], str]] = {
    UnknownTool: "unknown_tool",
    QueryError: InvalidArguments.code,
    ParameterError: InvalidArguments.code,
}
"""Codes of those that carry none of their own."""
KNOWN: Final[tuple[type[Exception], ...]] = (*CODED, *_CODES)


def explained(error: Exception) -> tuple[str, str] | None:
    """Return an error's code and its message in one line; None: it is none of these.

    Example:
        >>> explained(NotReady("starting", "the gateway is still starting"))
        ('starting', 'the gateway is still starting')
    """
    if isinstance(error, CODED):
        return error.code, str(error)
    for kind, code in _CODES.items():
        if isinstance(error, kind):  # a parameter's error may quote a server's schema
            is_foreign = kind is ParameterError
            return code, told(error, most=MAX_PARAMETER_ERROR) if is_foreign else str(error)
    return None
