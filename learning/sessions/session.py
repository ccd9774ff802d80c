"""The session of a caller, as one process remembers it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from execution.speculation.pending import CallKey, PendingPredictions
from learning.memory.context import ContextKey

if TYPE_CHECKING:
    from gateway_project.foundation.caller import Caller, SessionKey
    from graph.suggestion.next_call.call import PredictedCall
    from graph.suggestion.next_call.session import SessionState
    from learning.episodes import Statement
    from tools.catalogue import CatalogueTool

MAX_WAITING: Final = 16
"""Calls and statements of a session that wait to be analysed; older ones are dropped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredCall:
    """An answered call, to be analysed.

    Attributes:
        arguments: As sent; None: they are too large to be read.
        result: The part of the raw result that is read; None: it is too large.
        is_error: Whether the tool reported an error.
        arguments_hash: As in its event.
        is_task: Whether a run made it; such a call teaches with its run.
        at: When it was answered, Unix time in seconds.
        ended_at: The same, in seconds of a monotonic clock.
        duration_s: How long it took.
        saved_s: How much longer it would have taken if it had not been called ahead.
    """

    tool: CatalogueTool
    arguments: Mapping[str, Any] | None
    result: Mapping[str, Any] | None
    is_error: bool
    arguments_hash: int | None
    is_task: bool
    at: float
    ended_at: float
    duration_s: float
    saved_s: float = 0.0


class NextCallPrediction(NamedTuple):
    """A predicted call: it is made ahead, or else its outcome is only noted (a shadow)."""

    id: UUID
    key: CallKey
    call: PredictedCall
    tool: CatalogueTool


@dataclass(kw_only=True, eq=False, slots=True)
class SessionAnalysis:
    """What the analysis of a session knows.

    Attributes:
        state: Its calls and statements, as prediction reads them.
        pending: Predictions that are not called ahead and wait for their outcome.
        predicted_at: When calls were predicted last, in seconds of a monotonic clock.
    """

    state: SessionState
    pending: PendingPredictions[NextCallPrediction]
    predicted_at: float = 0.0


@dataclass(kw_only=True, eq=False, slots=True)
class Session:
    """What a process remembers of one caller's conversation, or of one run.

    Attributes:
        hash: As in its events: a keyed hash of the key and the process, or that of the run.
        caller: Whose it is, with the permissions of its latest request.
        active_at: When it was last active, in seconds of a monotonic clock.
        run: The run that it is; None: it is a conversation.
        starter: Who started the run, with the session of that; None: not known here.
        has_ended: Whether the run has ended, or its caller's connection.
        context: Context of its latest intent or search; None: there was none.
        counted_calls: How many of them the model of its team counts.
        waiting: What waits to be analysed, oldest first.
        has_gap: Whether something was dropped that its analysis would have needed.
        analysis: State of its analysis; None: it was not analysed yet. For the analyst only.
        value_count: Values that its analysis remembers.
    """

    key: SessionKey
    hash: int
    caller: Caller
    active_at: float
    run: UUID | None = None
    starter: Caller | None = None
    has_ended: bool = False
    context: ContextKey | None = None
    call_count: int = 0
    counted_calls: int = 0
    waiting: deque[Statement | AnsweredCall] = field(default_factory=deque)
    has_gap: bool = False
    analysis: SessionAnalysis | None = None
    value_count: int = 0

    @property
    def owner(self) -> int | None:
        """Primary key of the team, or private team, that owns what the session teaches."""
        return self.caller.owner
