"""Calls and workflows made ahead of a request, what became of them, and who makes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from execution.call_outcome import CallOutcome, SpeculationForm
from execution.speculation.rules import AdmissibilityReason, ReasonCode, make_reason

if TYPE_CHECKING:
    from execution.speculation.provenance import Provenance
    from gateway_project.foundation.caller import Caller
    from tools.catalogue import CatalogueTool
    from tools.upstream.request import UpstreamRequest

MAX_REASONS: Final = 5
"""Reasons that a sentence names."""
Reasons = tuple[AdmissibilityReason, ...]
SendCall = Callable[[], Awaitable[CallOutcome]]


class SpeculationEnd(StrEnum):
    """What became of a call made ahead."""

    SERVED = "served"
    """Its result answered the request; perhaps the request waited for the rest of the call."""
    COMPARED = "compared"
    """The same call was requested and made again, and the results were compared."""
    UNUSED = "unused"
    """Nobody asked for it in time, or something invalidated it."""
    FAILED = "failed"
    """It was not answered, or answered with an error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpeculativeCall:
    """A call that may be made ahead of its request, with its final arguments.

    Attributes:
        prediction: Id of the prediction that it belongs to.
        form: What was predicted.
        tool: Canonical id.
        arguments: As they would be sent.
        provenance: Where the values come from, by JSON pointer into the arguments; a value
            without one is of unknown origin.
        expected_s: 95th percentile of the tool's duration; None: unknown.
        chance: Probability that it will be requested, in [0, 1].
        next_chance: Probability that it is the very next request, in [0, chance].
    """

    prediction: UUID
    form: SpeculationForm
    tool: str
    arguments: Mapping[str, Any]
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    expected_s: float | None = None
    chance: float = 1.0
    next_chance: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedSpeculation:
    """A call made ahead, and what became of it.

    Attributes:
        caller: Whom it was made for.
        call: The call.
        tool: As it was called.
        end: What became of it.
        agreed: Whether its result was that of the same call made again; None: not compared.
        duration_s: Seconds that the server took.
        saved_s: Seconds that it saved.
        cost: Its price in US dollars.
    """

    caller: Caller
    call: SpeculativeCall
    tool: CatalogueTool
    end: SpeculationEnd
    agreed: bool | None
    duration_s: float
    saved_s: float
    cost: Decimal


OnSpeculationEnded = Callable[[EndedSpeculation], None]
"""Called once for each call made ahead, on the event loop; never raises."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpeculativeTask:
    """A call of a workflow that was run ahead.

    Attributes:
        task: Id of the task.
        tool: Canonical id.
        arguments: As they were sent.
        started_s: Seconds from the start of the run.
        duration_ms: Milliseconds until the answer, or until nobody waited for it any more.
        trouble: What went wrong, in a few words; empty if nothing did.
    """

    task: str
    tool: str
    arguments: Mapping[str, Any]
    started_s: float
    duration_ms: float
    trouble: str = ""


@dataclass(frozen=True, kw_only=True)
class SpeculativeRun:
    """What became of running a workflow ahead: all of it, a part, or nothing.

    Attributes:
        raw_results: Raw results by task: one, or those of its items in order.
        lists: Ids of the tasks that ran for each item of a list.
        tasks: The calls that were sent, in the order in which they ended.
        took_s: Seconds from the first call to the last answer.
        reasons: Why it is not all of the workflow; empty if it is.
    """

    raw_results: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    lists: frozenset[str] = frozenset()
    tasks: tuple[SpeculativeTask, ...] = ()
    took_s: float = 0.0
    reasons: Reasons = ()

    @property
    def is_whole(self) -> bool:
        """Whether the whole workflow was run, with success."""
        return bool(self.tasks) and not self.reasons

    @property
    def fallback_code(self) -> str:
        """Code of the first reason; empty: there is none."""
        return self.reasons[0].code.value if self.reasons else ""

    @property
    def fallback_reason(self) -> str:
        """The reasons in words, each once; empty: there is none."""
        messages = list(dict.fromkeys(reason.message for reason in self.reasons))
        more = len(messages) - MAX_REASONS
        return " ".join([*messages[:MAX_REASONS], *([f"And {more} more."] if more > 0 else [])])


NOT_RUN_AHEAD: Final = SpeculativeRun()


class SpeculationRefused(Exception):
    """A call may not be made ahead now.

    Attributes:
        reasons: Every reason against it.
        was_sent: Whether the call was sent, to no avail.
    """

    code = "not_admissible"

    def __init__(self, reasons: Reasons, *, was_sent: bool = False) -> None:
        super().__init__(" ".join(reason.message for reason in reasons))
        self.reasons = reasons
        self.was_sent = was_sent


class Speculation:
    """Makes calls ahead of their requests, and answers requests with their results.

    This one makes none; `Speculator` does.

    Args:
        is_switched_off: False: it only is not done in this process, such as a command's.
    """

    def __init__(self, *, is_switched_off: bool = True) -> None:
        self._is_switched_off = is_switched_off

    def list_obstacles(self) -> Reasons:
        """Return why nothing at all may be called ahead now; empty: something may."""
        if not self._is_switched_off:
            return ()
        message = "Speculation is switched off in the settings."
        return (make_reason(ReasonCode.SWITCHED_OFF, message),)

    async def confirm(self) -> None:
        """Read the switch, unless that was done a moment ago; a failure leaves it off."""

    def dispatch(self, caller: Caller, call: SpeculativeCall) -> Reasons:  # noqa: ARG002
        """Start a call in the background, if it is admissible, affordable and in nobody's way.

        Returns:
            The reasons against it; empty: it was started, or is known or in flight already.
        """
        return self.list_obstacles()

    def find_latest_s(self, tool: str) -> float | None:  # noqa: ARG002
        """Return the seconds that the latest call of a tool took, by canonical id.

        A call in flight counts with the seconds after which nobody waited for it any more.
        None: none was made in this process.
        """
        return None

    async def make(
        self,
        caller: Caller,  # noqa: ARG002
        call: SpeculativeCall,  # noqa: ARG002
        *,
        waits: bool = True,  # noqa: ARG002
    ) -> CallOutcome:
        """Make a call ahead and return its outcome, which later requests are served with too.

        Args:
            caller: Whom it is for.
            call: The call.
            waits: Whether to wait for the answer; otherwise it has to be there.

        Raises:
            SpeculationRefused: If it may not be made ahead now, or its answer is not there yet.
            CallError: If it fails.
            UpstreamError: If the server cannot be reached or the connection breaks.
        """
        raise SpeculationRefused(self.list_obstacles())

    async def answer(
        self,
        caller: Caller,  # noqa: ARG002
        tool: CatalogueTool,  # noqa: ARG002
        request: UpstreamRequest,  # noqa: ARG002
        send: SendCall,
        *,
        is_fresh: bool,  # noqa: ARG002
    ) -> CallOutcome:
        """Answer a permitted, valid request: with a result made ahead, or by sending it.

        What is not known to be read-only discards the results that it may have outdated.

        Args:
            caller: Whose request it is.
            tool: As found for this caller.
            request: The request.
            send: Sends it.
            is_fresh: Whether the caller wants a new answer.
        """
        return await send()

    def share(self, caller: Caller, run: UUID) -> None:
        """Let the tasks of a run be answered with the results of the session that starts it."""

    def discard_server(self, server: str, *, stops_calls: bool = True) -> None:
        """Discard all results of a server, and stop its calls made ahead.

        Args:
            server: Its name.
            stops_calls: False: a call in flight goes on, since it will see the change.
        """

    def discard_prediction(self, prediction: UUID) -> None:
        """Stop what a prediction started, and discard its results."""


NO_SPECULATION: Final = Speculation()
