"""Errors that are reported to the requester, each with a stable code and one line of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.db import Error as DatabaseError

from execution.call_errors import CallError, InvalidArguments
from execution.control import ActionNotPossible
from execution.planning.parse import InvalidWorkflow
from execution.run_dependencies import RunsUnavailable
from execution.store.approvals import ApprovalNotPending, UnknownApproval
from execution.store.runs import IdempotencyConflict, TooManyRuns, UnknownRun
from execution.store.speculations import FeedbackGiven, SpeculationResolved, UnknownSpeculation
from gateway_project.access.grant import TokenNotGrantable, UnknownToken
from gateway_project.access.roles import NotPermitted
from gateway_project.flow import SearchNotPermitted
from gateway_project.foundation.database import is_database_away
from gateway_project.foundation.reasons import summarize_error
from gateway_project.pass_through import PassThroughError
from gateway_project.readiness import NotReady
from gateway_project.result_store import UnknownResult
from gateway_project.runs.plan import WorkflowNotRunnable
from gateway_project.use_cases.curate_people import UnknownPerson
from gateway_project.use_cases.curate_servers import RegistrationNotPermitted
from gateway_project.use_cases.decide_approval import SecondPersonRequired
from gateway_project.use_cases.import_configuration import ImportInProgress
from gateway_project.use_cases.refusals import InvalidEntry, NoSuchRow
from gateway_project.webhooks.store import UnknownWebhook
from graph.suggestion.binding.parameters import ParameterError
from tools.catalogue import UnknownTool
from tools.foreign_text import quote_foreign
from tools.pinned_content import ContentUnavailable
from tools.query_text import QueryError
from tools.store.danger import UnknownOperation
from tools.store.servers import UnknownServerRow
from tools.store.teams import UnknownTeam
from tools.store.tool_groups import UnknownToolGroup
from tools.upstream.errors import UpstreamError

MAX_PARAMETER_ERROR_CHARS: Final = 600
"""Characters of an error about a parameter of run_intent."""
ERRORS_WITH_CODE: Final = (
    CallError,
    FeedbackGiven,
    IdempotencyConflict,
    ImportInProgress,
    InvalidEntry,
    InvalidWorkflow,
    ApprovalNotPending,
    ActionNotPossible,
    NoSuchRow,
    NotPermitted,
    NotReady,
    WorkflowNotRunnable,
    ContentUnavailable,
    PassThroughError,
    RegistrationNotPermitted,
    RunsUnavailable,
    SearchNotPermitted,
    SecondPersonRequired,
    SpeculationResolved,
    TokenNotGrantable,
    TooManyRuns,
    UnknownApproval,
    UnknownOperation,
    UnknownPerson,
    UnknownResult,
    UnknownRun,
    UnknownServerRow,
    UnknownSpeculation,
    UnknownTeam,
    UnknownToken,
    UnknownToolGroup,
    UnknownWebhook,
    UpstreamError,
)
"""Errors that carry their own code."""
_CODES: Final[Mapping[type[Exception], str]] = {
    UnknownTool: "unknown_tool",
    QueryError: InvalidArguments.code,
    ParameterError: InvalidArguments.code,
}
"""Codes of errors that carry none."""
USER_ERRORS: Final[tuple[type[Exception], ...]] = (*ERRORS_WITH_CODE, *_CODES)


def explain_error(error: Exception) -> tuple[str, str] | None:
    """Return an error's code and its one-line message; None for any other error.

    Example:
        >>> explain_error(NotReady("starting", "the gateway is still starting"))
        ('starting', 'the gateway is still starting')
    """
    if isinstance(error, ERRORS_WITH_CODE):
        return error.code, str(error)
    if isinstance(error, DatabaseError) and is_database_away(error):
        return RunsUnavailable.code, f"{summarize_error(error)}; try again in a moment"
    for kind, code in _CODES.items():
        if isinstance(error, kind):  # a ParameterError may quote a server's schema
            is_foreign = kind is ParameterError
            return code, quote_foreign(
                error, most=MAX_PARAMETER_ERROR_CHARS
            ) if is_foreign else str(error)
    return None
