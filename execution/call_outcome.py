"""A call that was answered, by its server or by a call made ahead, or ended otherwise."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from execution.call_errors import InvalidArguments
from tools.upstream.errors import UpstreamRefused

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller
    from tools.catalogue import CatalogueTool
    from tools.upstream.result import UpstreamResult


class SpeculationForm(StrEnum):
    """What is called ahead."""

    INTENT = "intent"
    """The workflow suggested for an intent."""
    NEXT_CALL = "next_call"
    """A call that is likely to come next."""
    NEXT_LAYER = "next_layer"
    """A task of a run that waits for a decision."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedSpeculation:
    """How a call made ahead answered a request.

    Attributes:
        prediction: Id of the prediction.
        form: What was predicted.
        age_s: Seconds since the server answered; 0: the request waited for the answer.
        saved_s: Seconds by which the answer came sooner.
    """

    prediction: UUID
    form: SpeculationForm
    age_s: float
    saved_s: float


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """A call that its server answered.

    Attributes:
        tool: Canonical id.
        definition_hash: Of the pinned definition that was called.
        result: As received; may be an error of the tool.
        duration_s: From dispatch to answer.
        served: How a call made ahead answered it; None: none did.
        converted: What of its arguments was converted, or does not fit and was passed on, for the
            `_meta` of the answer.
    """

    tool: str
    definition_hash: str
    result: UpstreamResult
    duration_s: float
    served: ServedSpeculation | None = None
    converted: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedCall:
    """A call that ended, however it did.

    Attributes:
        caller: Whose call it was.
        tool: The tool; None: the caller sees no such tool.
        arguments: As sent.
        code: Empty: the tool succeeded; `tool_error`: it reported an error; `cancelled`; else the
            code of the error that prevented an answer.
        result: The server's answer; None: there is none.
        duration_s: From the request to its end.
        served: How a call made ahead answered it; None: none did.
    """

    caller: Caller
    tool: CatalogueTool | None
    arguments: Mapping[str, Any]
    code: str
    result: UpstreamResult | None
    duration_s: float
    served: ServedSpeculation | None = None


async def let_server_judge(
    answer: Awaitable[CallOutcome], misfit: InvalidArguments
) -> CallOutcome:
    """Return an answer; raise what does not fit if the server does not take it either."""
    with suppress(UpstreamRefused):
        outcome = await answer
        if not outcome.result.is_error:
            return outcome
    raise misfit  # says better than most servers what is wrong
