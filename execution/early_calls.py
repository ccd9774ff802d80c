"""What the call path, predictions and runs need of calls made ahead of their request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from execution.call_outcome import CallOutcome, SpeculationForm
from execution.speculation_rules import AdmissibilityReason, ReasonCode, make_reason

if TYPE_CHECKING:
    from execution.admissibility import ProposedCall
    from execution.early_run import EarlyRun
    from gateway_project.foundation.caller import Caller
    from tools.catalogue import CatalogueTool
    from tools.upstream.request import UpstreamRequest


class EarlyEnd(StrEnum):
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
class EarlyCall:
    """A call to be made ahead of its request.

    Attributes:
        prediction: Id of the prediction that it belongs to.
        form: What was predicted.
        call: The call with its final arguments and their origins.
        chance: Probability that it will be requested, in [0, 1].
        next_chance: Probability that it is the very next request, in [0, chance].
        saves_ms: Estimate of the time that its result saves.
    """

    prediction: UUID
    form: SpeculationForm
    call: ProposedCall
    chance: float = 1.0
    next_chance: float = 1.0
    saves_ms: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedEarlyCall:
    """A call made ahead, and what became of it.

    Attributes:
        caller: Whom it was made for.
        early: The call.
        tool: As it was called.
        end: What became of it.
        agreed: Whether its result was that of the same call made again; None: not compared.
        duration_s: Seconds that the server took.
        saved_s: Seconds that it saved.
        cost: Its price in US dollars.
    """

    caller: Caller
    early: EarlyCall
    tool: CatalogueTool
    end: EarlyEnd
    agreed: bool | None
    duration_s: float
    saved_s: float
    cost: Decimal


OnEarlyCallEnded = Callable[[EndedEarlyCall], None]
"""Called once for each call made ahead, on the event loop; never raises."""
SendCall = Callable[[], Awaitable["CallOutcome"]]


class SpeculationRefused(Exception):
    """A call may not be made ahead now.

    Attributes:
        reasons: Every reason against it.
        was_sent: Whether the call was sent, to no avail.
        attempt: What was called of a workflow before it failed; None: nothing was.
    """

    code = "not_admissible"

    def __init__(
        self,
        reasons: tuple[AdmissibilityReason, ...],
        *,
        was_sent: bool = False,
        attempt: EarlyRun | None = None,
    ) -> None:
        super().__init__(" ".join(reason.message for reason in reasons))
        self.reasons = reasons
        self.was_sent = was_sent
        self.attempt = attempt


class Speculation(Protocol):
    """Makes calls ahead of their requests, and answers requests with their results."""

    def list_obstacles(self) -> tuple[AdmissibilityReason, ...]:
        """Return why nothing at all may be called ahead now; empty: something may."""

    async def confirm(self) -> None:
        """Read the switch, unless that was done a moment ago; a failure leaves it off."""

    def dispatch(self, caller: Caller, early: EarlyCall) -> tuple[AdmissibilityReason, ...]:
        """Start a call in the background, if it is admissible, affordable and in nobody's way.

        Args:
            caller: Whom it is for.
            early: The call.

        Returns:
            The reasons against it; empty: it was started, or is known or in flight already.
        """

    def find_latest_s(self, tool: str) -> float | None:
        """Return the seconds that the latest call of a tool took, by canonical id.

        A call in flight counts with the seconds after which nobody waited for it any more.
        None: none was made in this process.
        """

    async def make(self, caller: Caller, early: EarlyCall, *, waits: bool = True) -> CallOutcome:
        """Make a call ahead and return its outcome, which later requests are served with too.

        Args:
            caller: Whom it is for.
            early: The call.
            waits: Whether to wait for the answer; otherwise it has to be there.

        Raises:
            SpeculationRefused: If it may not be made ahead now, or its answer is not there yet.
            CallError: If it fails.
            UpstreamError: If the server cannot be reached or the connection breaks.
        """

    async def answer(
        self,
        caller: Caller,
        tool: CatalogueTool,
        request: UpstreamRequest,
        send: SendCall,
        *,
        is_fresh: bool,
    ) -> CallOutcome:
        """Answer a request: with a result made ahead, or by sending it.

        What is not known to be read-only discards the results that it may have outdated.

        Args:
            caller: Whose request it is.
            tool: As found for this caller; the request is permitted and valid.
            request: The request.
            send: Sends it.
            is_fresh: Whether the caller wants a new answer.
        """

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


@dataclass(frozen=True)
class NoSpeculation:
    """Makes no call ahead.

    Attributes:
        is_switched_off: False: it only is not done in this process, such as a command's.
    """

    is_switched_off: bool = True

    def list_obstacles(self) -> tuple[AdmissibilityReason, ...]:
        """See `Speculation`."""
        if not self.is_switched_off:
            return ()
        return (
            make_reason(ReasonCode.SWITCHED_OFF, "Speculation is switched off in the settings."),
        )

    async def confirm(self) -> None:
        """See `Speculation`."""

    def dispatch(
        self,
        caller: Caller,  # noqa: ARG002
        early: EarlyCall,  # noqa: ARG002
    ) -> tuple[AdmissibilityReason, ...]:
        """See `Speculation`."""
        return self.list_obstacles()

    def find_latest_s(self, tool: str) -> float | None:  # noqa: ARG002
        """See `Speculation`."""
        return None

    async def make(
        self,
        caller: Caller,  # noqa: ARG002
        early: EarlyCall,  # noqa: ARG002
        *,
        waits: bool = True,  # noqa: ARG002
    ) -> CallOutcome:
        """See `Speculation`."""
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
        """See `Speculation`."""
        return await send()

    def share(self, caller: Caller, run: UUID) -> None:
        """See `Speculation`."""

    def discard_server(self, server: str, *, stops_calls: bool = True) -> None:
        """See `Speculation`."""

    def discard_prediction(self, prediction: UUID) -> None:
        """See `Speculation`."""


NO_SPECULATION: Final = NoSpeculation()
