"""Failures of calls, as codes and one-line messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, NamedTuple

import structlog

from execution import retry
from execution.call_errors import DeadlineExceeded
from execution.codes import APPROVAL_EXPIRED, APPROVAL_REJECTED, INTERNAL_ERROR, TOOL_ERROR
from execution.running.results import find_first_text
from gateway_project.foundation.reasons import summarize_error
from tools.catalogue import UnknownTool
from tools.upstream.result import UpstreamResult

MAX_MESSAGE_CHARS: Final = 2_000
"""Characters of a tool's error text to keep; the rest stays in its result."""
_MAY_HAVE_RUN_NOTE: Final = "; the call may have taken effect"
_CALL_LOST_NOTE: Final = (
    "; the gateway was lost during the previous call, which may have taken effect"
)
CALL_LOST: Final = "call_lost"
"""Code of a call lost with its gateway and not repeated because its run stopped."""
_CODES_BY_ERROR: Final[Mapping[type[Exception], str]] = {UnknownTool: "unknown_tool"}
"""Codes for exceptions without one."""

CALL_CANCELLED_MESSAGE: Final = "the call was cancelled in progress; it may have taken effect"
CALL_LOST_MESSAGE: Final = (
    "the gateway was lost during the call, which is not repeated now; it may have taken effect"
)

log = structlog.get_logger(__name__)


class ApprovalUnusable(Exception):
    """The approval was for another call, was already used, or has expired."""

    code: ClassVar[str] = "not_approved"

    def __init__(self) -> None:
        super().__init__(
            "the approval could not be used: it was for another call, was already used, or has "
            "expired; start a new run to ask again"
        )


class CallCancelled(Exception):
    """A call was cancelled internally, for example by closing its server connection."""

    code: ClassVar[str] = "call_cancelled"

    def __init__(self) -> None:
        super().__init__(CALL_CANCELLED_MESSAGE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFailure:
    """The failure of a call.

    Attributes:
        code: Stable error code.
        message: One line.
        result: The tool's result, if any.
        duration_ms: Duration of the call; None: not made, or never answered.
    """

    code: str
    message: str
    result: Mapping[str, Any] | None = None
    duration_ms: float | None = None


class FailureCause(NamedTuple):
    """The first relevant failure of a run."""

    task: str
    code: str
    message: str


def failure_from_error(error: BaseException) -> CallFailure:
    """Build a failure from an exception, noting whether the call may have taken effect.

    An exception without a code is a defect, and is logged.
    """
    code = getattr(error, "code", None)
    if not isinstance(code, str):
        code = next(
            (code for kind, code in _CODES_BY_ERROR.items() if isinstance(error, kind)), None
        )
    if code is None:
        log.error("run.task_crashed", exc_info=error)
        return CallFailure(
            code=INTERNAL_ERROR, message=f"the gateway failed: {summarize_error(error)}"
        )
    is_open = isinstance(error, DeadlineExceeded) or retry.may_have_run(error)
    return CallFailure(
        code=code, message=_truncate_message(error, also=_MAY_HAVE_RUN_NOTE if is_open else "")
    )


def _truncate_message(error: BaseException, *, also: str) -> str:
    return summarize_error(error)[: MAX_MESSAGE_CHARS - len(also)] + also


def failure_after_loss(why: CallFailure) -> CallFailure:
    """Extend a failure for a call that was lost in flight with its gateway."""
    message = why.message[: MAX_MESSAGE_CHARS - len(_CALL_LOST_NOTE)] + _CALL_LOST_NOTE
    return replace(why, message=message)


def failure_from_refusal(code: str) -> CallFailure:
    """Build a failure from an approval refusal code."""
    return CallFailure(code=code, message=_REFUSAL_MESSAGES.get(code, "the call was not approved"))


_REFUSAL_MESSAGES: Final[Mapping[str, str]] = {
    APPROVAL_REJECTED: "a person rejected the call",
    APPROVAL_EXPIRED: "nobody approved the call in time; start a new run to ask again",
}


def failure_from_result(answer: UpstreamResult, duration_ms: float) -> CallFailure:
    """Build a failure from a result that the tool itself reports as an error.

    The result is kept unchanged; the text quoted from it is redacted.
    """
    text = answer.redact(find_first_text(answer.raw) or "")
    message = " ".join(text.split())[:MAX_MESSAGE_CHARS]
    return CallFailure(
        code=TOOL_ERROR,
        message=message or "the tool reported an error without details",
        result=answer.raw,
        duration_ms=duration_ms,
    )
