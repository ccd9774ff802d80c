"""What callers' requests are recorded with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from learning.memory.context import Context, ContextKey

if TYPE_CHECKING:
    from execution.call import EndedCall
    from execution.speculation.calls import EndedSpeculation
    from gateway_project.foundation.caller import Caller
    from graph.suggestion.next_call.call import PlannedCall

NO_CONTEXT: Final = ContextKey(context=0, domain=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredIntent:
    """An intent and the workflow suggested for it.

    Attributes:
        text: The words of the intent; never stored.
        mode: How the client should treat the suggestion.
        confidence: Of the suggestion, in [0, 1].
        found: The likeliest tools by primary key, suggested or not, best first, each with the
            probability that it is needed.
        planned: The suggested calls, in their order.
    """

    text: str
    context: ContextKey
    prediction: UUID
    mode: str
    confidence: float
    tools: tuple[int, ...]
    found: Mapping[int, float]
    planned: tuple[PlannedCall, ...] = ()


class SessionMemory:
    """Records what callers do; for one event loop. No method blocks or raises.

    This one records nothing; `SessionRegistry` does.
    """

    def compute_context_key(self, context: Context) -> ContextKey:  # noqa: ARG002
        """Return the key of a context."""
        return NO_CONTEXT

    def record_call(self, ended: EndedCall) -> None:
        """Record a call that ended."""

    def record_task_call(self, ended: EndedCall) -> None:
        """Record a call that ended and that a run made."""

    def record_search(
        self, caller: Caller, query: str, *, context: Context, hits: Mapping[int, float]
    ) -> None:
        """Record a search.

        Args:
            caller: Who searched.
            query: The words of the query; never stored.
            context: Its context.
            hits: Tools found by primary key, best first, each with its score.
        """

    def record_intent(self, caller: Caller, answered: AnsweredIntent) -> None:
        """Record an intent and its answer."""

    def record_run(self, caller: Caller, run: UUID) -> None:
        """Record that a caller started a run, whose calls share the context of its session."""

    def record_run_end(self, run: UUID) -> None:
        """Record that a run ended: whoever started it may go on from its results."""

    def record_session_end(self, caller: Caller) -> None:
        """Record that the connection of a caller's session has ended: no call follows."""

    def record_agent_decision(self, caller: Caller, run: UUID, action: str) -> None:
        """Record how an agent decided that a run goes on."""

    def record_speculation_end(self, ended: EndedSpeculation) -> None:
        """Record what became of a predicted next call that was made ahead."""


NO_MEMORY: Final = SessionMemory()
