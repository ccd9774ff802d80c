"""Why a call of a run failed, as a code and a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import structlog

from execution import retry
from execution.call_errors import DeadlineExceeded
from execution.codes import APPROVAL_EXPIRED, APPROVAL_REJECTED, INTERNAL_ERROR, TOOL_ERROR
from execution.running.results import first_text
from gateway_project.foundation.reasons import first_line
from tools.catalogue import UnknownTool

MAX_MESSAGE: Final = 2_000
"""Characters of what a tool says of its failure; the rest stays in its result."""
_MAY_HAVE_RUN: Final = "; the call may have taken effect"
_WAS_LOST: Final = "; the gateway was lost during the call before, which may have taken effect"
CALL_LOST: Final = "call_lost"
"""Code of a call that was lost with its gateway, and is not made again since its run stopped."""
_CODES: Final[Mapping[type[Exception], str]] = {UnknownTool: "unknown_tool"}
"""Codes of exceptions that carry none of their own."""

log = structlog.get_logger(__name__)


class ApprovalUnusable(Exception):
    """An approval was given for another call, was used already, or has expired."""

    code: ClassVar[str] = "not_approved"

    def __init__(self) -> None:
        super().__init__(
            "the approval could not be used: it was for another call, is used already, or has "
            "expired; start a new run to be asked again"
        )


class CallCancelled(Exception):
    """A call was cancelled from within, such as when the connection to its server was closed."""

    code: ClassVar[str] = "call_cancelled"

    def __init__(self) -> None:
        super().__init__("the call was cancelled while it was under way; it may have taken effect")


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a call failed.

    Attributes:
        code: Stable word.
        message: One line.
        result: What the tool answered, if it did.
        duration_ms: Of the call; None: it was not made, or never answered.
    """

    code: str
    message: str
    result: Mapping[str, Any] | None = None
    duration_ms: float | None = None


def of_error(error: BaseException) -> Failure:
    """Say why a call failed from what was raised, and whether it may have taken effect.

    What has no code is a defect, and logged.
    """
    code = getattr(error, "code", None)
    if not isinstance(code, str):
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), None)
    if code is None:
        log.error("run.task_broke", exc_info=error)
        return Failure(code=INTERNAL_ERROR, message=f"the gateway failed: {first_line(error)}")
    is_open = isinstance(error, DeadlineExceeded) or retry.may_have_run(error)
    return Failure(code=code, message=_cut(error, also=_MAY_HAVE_RUN if is_open else ""))


def _cut(error: BaseException, *, also: str) -> str:
    return first_line(error)[: MAX_MESSAGE - len(also)] + also


def after_loss(why: Failure) -> Failure:
    """Say why a call is not made again that was under way when its gateway was lost."""
    message = why.message[: MAX_MESSAGE - len(_WAS_LOST)] + _WAS_LOST
    return replace(why, message=message)


def of_refusal(code: str) -> Failure:
    """Say why a call is not made that a person was asked about."""
    return Failure(code=code, message=_REFUSALS.get(code, "the call was not approved"))


_REFUSALS: Final[Mapping[str, str]] = {
    APPROVAL_REJECTED: "a person rejected the call",
    APPROVAL_EXPIRED: "nobody approved the call in time; start a new run to be asked again",
}


def of_result(result: Mapping[str, Any], duration_ms: float) -> Failure:
    """Say why a call failed from an answer in which the tool itself reports it."""
    said = " ".join((first_text(result) or "").split())[:MAX_MESSAGE]
    return Failure(
        code=TOOL_ERROR,
        message=said or "the tool reports an error and says nothing of it",
        result=result,
        duration_ms=duration_ms,
    )
