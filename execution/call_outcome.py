"""A call that was answered, by its server or by a call made ahead."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from uuid import UUID

from execution.call_errors import InvalidArguments
from tools.upstream.errors import UpstreamRefused

if TYPE_CHECKING:
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
class ServedEarly:
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
    served: ServedEarly | None = None
    converted: Sequence[Mapping[str, str]] = ()


async def let_server_judge(
    answer: Awaitable[CallOutcome], misfit: InvalidArguments | None
) -> CallOutcome:
    """Return an answer; raise what does not fit if the server does not take it either."""
    if misfit is None:
        return await answer
    with suppress(UpstreamRefused):
        outcome = await answer
        if not outcome.result.is_error:
            return outcome
    raise misfit  # says better than most servers what is wrong
