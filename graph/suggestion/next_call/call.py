"""The calls of a session, as prediction reads them, and predicted calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletedCall:
    """A call that was answered.

    Attributes:
        tool: Primary key of the tool.
        arguments: As sent.
        result: The structured content, else the JSON in the first text block, else the text.
            None: there is none, or it is too large to be read.
        is_error: Whether the tool reported an error.
        is_read_only: Whether the call is known to change nothing.
        duration_s: How long it took.
    """

    tool: int
    arguments: Mapping[str, Any]
    result: Any
    is_error: bool
    is_read_only: bool
    duration_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedCall:
    """A call of the workflow that the gateway suggested for a statement.

    Attributes:
        tool: Primary key of the tool.
        arguments: Values that the statement gives; references to results are left out.
        is_complete: Whether that is all that a call needs.
        chance: Probability that the tool is needed, in [0, 1].
    """

    tool: int
    arguments: Mapping[str, Any]
    is_complete: bool
    chance: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictedCall:
    """A call that may come next.

    Attributes:
        tool: Primary key of the tool.
        arguments: Complete and valid arguments.
        chance: Calibrated probability, in [0, 1], that exactly this call comes before anything
            invalidates it.
        next_chance: Probability, in [0, chance], that it is the very next call: what is lost by
            waiting for one more call before it is dispatched.
        saves_ms: Estimate of the time that its result saves.
        reason: Why, in plain words, without any value.
        sources: Where each argument comes from: `result:SERVER` or `argument:SERVER` of an
            earlier call of that server, `stated` by the client (also as the gateway read it into a
            suggested call), or a `constant` of the schema.
        p95_ms: 95th percentile of the duration of the tool's calls; None: too few were seen.
    """

    tool: int
    arguments: Mapping[str, Any]
    chance: float
    next_chance: float
    saves_ms: float
    reason: str
    sources: Mapping[str, str]
    p95_ms: float | None = None
