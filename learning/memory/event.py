"""Events of the episodic memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Final
from uuid import UUID


class EventKind(StrEnum):
    """What happened."""

    TASK_COMPLETE = "task_complete"
    """A call of a tool ended: a direct call, a task of a run, or a speculated call."""
    SEARCH = "search"
    """A client searched for tools."""
    INTENT = "intent"
    """A client asked for a workflow."""
    SPECULATION_START = "speculation_start"
    """A prediction was made; it was run, or only recorded (shadow)."""
    SPECULATION_END = "speculation_end"
    """A prediction was resolved."""
    AIL_DECISION = "ail_decision"
    """An agent decided how a paused run goes on."""
    HIL_DECISION = "hil_decision"
    """A person decided on an approval."""
    OBSERVATION = "observation"
    """What a call teaches about the next ones, known some time after the call."""


KIND_CODES: Final[Mapping[EventKind, int]] = {
    EventKind.TASK_COMPLETE: 1,
    EventKind.SEARCH: 2,
    EventKind.INTENT: 3,
    EventKind.SPECULATION_START: 4,
    EventKind.SPECULATION_END: 5,
    EventKind.AIL_DECISION: 6,
    EventKind.HIL_DECISION: 7,
    EventKind.OBSERVATION: 8,
}
"""Codes under which kinds are stored; never reuse one."""


class EventOutcome(IntEnum):
    """How it ended. The numbers are stored; never reuse one."""

    SUCCEEDED = 1
    FAILED = 2
    """The tool reported an error."""
    UNANSWERED = 3
    """No answer: refused, timed out, cancelled, or the server was lost."""
    HIT = 4
    """A predicted call was made, or a predicted workflow run, while the prediction was valid."""
    MISS = 5
    REJECTED = 6
    MODIFIED = 7
    EXPIRED = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One event. Hashes are keyed digests of this installation, as signed 64-bit integers.

    Attributes:
        at: Unix time in seconds.
        team: Primary key of the caller's team; None: a caller without one.
        session: Hash of the caller and its session, or of the run.
        arguments_hash: Hash of the tool's definition and canonical arguments.
        context_hash: Hash of the context (`learning.memory.context`).
        context_check: A second, independent hash of the same context, by which collisions of the
            first are counted.
        intent_hash: Hash of the text of an intent or a search, the same for equal texts; its
            vector is recorded apart (`IntentVectorRecord`).
        prediction: Id of the prediction that this event starts, resolves or confirms.
        outcome: How it ended; None: it has no outcome.
        duration_ms: How long it took.
        weight: How sure the outcome is, in [0, 1]: explicit 1, implicit 0.5.
        data: Structure only: tools, places of values, counts, enumerations; never a value that a
            client or a server chose freely, in clear.
        sealed: Values that may be stored, sealed; empty: none.
    """

    kind: EventKind
    at: float
    team: int | None
    session: int
    tool: int | None = None
    arguments_hash: int | None = None
    context_hash: int | None = None
    context_check: int | None = None
    intent_hash: int | None = None
    prediction: UUID | None = None
    outcome: EventOutcome | None = None
    duration_ms: float | None = None
    weight: float = 1.0
    data: Mapping[str, Any] = field(default_factory=dict)
    sealed: bytes = b""


@dataclass(frozen=True, kw_only=True, slots=True)
class IntentVectorRecord:
    """The vector of the text of an intent or a search.

    Attributes:
        intent_hash: Keyed hash of the text, as in its events.
        at: Unix time in seconds.
        sealed: The vector, sealed (`learning.sessions.word_vectors`).
    """

    team: int | None
    intent_hash: int
    model: str
    at: float
    sealed: bytes
